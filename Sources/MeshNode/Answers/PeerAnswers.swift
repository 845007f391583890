import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Reports the peers, and the change sets that each side is missing.
struct PeerAnswers: NodePart {
  let context: NodeContext

  func peers() throws -> [PeerReport] {
    let connected = try replica.peerViews.all.map { peer in
      PeerReport(
        device: peer.device.description, account: peer.account.description, name: devices.name(of: peer),
        address: peer.role == .dialler ? peer.address : nil,
        incoming: peer.role == .dialler ? nil : peer.address, connected: true, behind: try behind(peer),
        assets: AssetAnswers(context: context).lacking(peer), lastError: nil,
        acknowledgedZones: peer.zones.filter { peer.acknowledged[$0] != nil }.map(\.description).sorted())
    }
    return connected + (try absentPeers(besides: Set(replica.peerViews.all.map(\.device))))
  }

  /// Returns the devices that are not connected while change sets wait for them.
  func absent() throws -> [WaitReport.Absent] {
    try absentPeers(besides: Set(replica.peerViews.all.map(\.device))).compactMap { peer in
      guard let device = peer.device, peer.behind.there > 0 else { return nil }
      return WaitReport.Absent(device: device, name: peer.name, changeSets: peer.behind.there)
    }
  }

  /// Returns the dialled addresses without a session, and the account's other devices. Devices without anything in
  /// common with this one are left out.
  private func absentPeers(besides connected: Set<DeviceID>) throws -> [PeerReport] {
    let dialled = addresses.dials.sorted { $0.key.description < $1.key.description }.compactMap { address, dial in
      addresses.mayAnswer(address, replica)
        ? (address: address, device: addresses.device(at: address), lastError: dial.lastError) : nil
    }
    let absent = Set(dialled.compactMap(\.device)).union(replica.account.liveDevices)
      .subtracting(connected).subtracting([replica.device])
    let last = try lastAcknowledgements(of: absent)
    var reported = connected
    func report(_ device: DeviceID?, _ address: HostPort?, _ lastError: String?) -> PeerReport? {
      if let device, !reported.insert(device).inserted { return nil }
      let known = device.flatMap { last[$0] } ?? LastAcknowledgement()
      return PeerReport(
        device: device?.description, account: device.flatMap { replica.certificate(of: $0)?.account.description },
        name: device.flatMap(devices.name(of:)), address: address?.description, connected: false,
        behind: known.behind, lastError: lastError, acknowledgedZones: known.zones.map(\.description).sorted())
    }
    return dialled.compactMap { report($0.device, $0.address, $0.lastError) }
      + replica.account.liveDevices.filter { $0 != replica.device }.compactMap { report($0, nil, nil) }
  }

  /// The change sets that a disconnected device had, as its last acknowledgements tell.
  private struct LastAcknowledgement {
    /// The changes that this node has and that the device didn't have.
    var behind = PeerReport.Behind(here: 0, there: 0)
    /// The zones in which the device acknowledged something.
    var zones: [ZoneID] = []
  }

  /// Returns the last acknowledgements of disconnected devices. Only zones in which both are members count.
  private func lastAcknowledgements(of devices: Set<DeviceID>) throws -> [DeviceID: LastAcknowledgement] {
    var last: [DeviceID: LastAcknowledgement] = [:]
    guard !devices.isEmpty else { return last }
    for zone in replica.zoneIDs where replica.isMember(replica.account.id, of: zone) {
      let members = devices.filter { device in
        replica.certificate(of: device).map { replica.isMember($0.account, of: zone) } ?? false
      }
      guard !members.isEmpty, let view = try replica.zoneViews.view(zone) else { continue }
      let saved = try store.control.acknowledgements(zone)
      for device in members {
        var merged = VersionVector()
        if let bytes = saved[device] {
          var reader = ByteReader(bytes)
          merged = try Acknowledgement(from: &reader).merged
          last[device, default: LastAcknowledgement()].zones.append(zone)
        }
        // A device has its own change sets, also if others pass them on before its acknowledgement.
        for author in view.merged.authors where author.device == device {
          merged[author] = max(merged[author], view.merged[author])
        }
        last[device, default: LastAcknowledgement()].behind += PeerReport.Behind(
          counted: merged.count(beyond: view.merged), there: view.merged.count(beyond: merged))
      }
    }
    return last
  }

  private func behind(_ peer: PeerView) throws -> PeerReport.Behind {
    var behind = PeerReport.Behind(here: 0, there: 0)
    for zone in peer.zones { behind += try self.behind(peer, zone) }
    return behind
  }

  func behind(_ peer: PeerView, _ zone: ZoneID) throws -> PeerReport.Behind {
    guard let view = try replica.zoneViews.view(zone) else { return PeerReport.Behind(here: 0, there: 0) }
    let theirs = peer.merged[zone] ?? VersionVector()
    return PeerReport.Behind(
      counted: theirs.count(beyond: view.merged),
      there: view.merged.count(beyond: peer.acknowledged[zone] ?? VersionVector()))
  }
}
