import MeshCore

/// Tells peers what is merged and stored here, and keeps what they acknowledge.
final class Acknowledgements: Part {
  /// An acknowledgement names all authors of a zone. The next one follows a millisecond later for each so many authors.
  private static let acknowledgedPerMillisecond = 4
  /// The pause between two times of passing on acknowledgements, in milliseconds.
  private static let relayInterval: Int64 = 2_000

  let context: Context
  private let logs: ControlLogs
  private let downloads: AssetDownloads
  /// The clock of acknowledgements. Each is later than the one before.
  private var clock = HybridClock()
  /// The last acknowledgements of the account's other devices that have arrived since the start.
  private var heard: [ZoneID: [DeviceID: Acknowledgement]] = [:]
  /// The devices whose acknowledgements the account's connected devices have not heard from this one.
  private var relays: [LinkID: [ZoneID: Set<DeviceID>]] = [:]
  private var nextRelay = Int64.min

  init(_ context: Context, _ logs: ControlLogs, _ downloads: AssetDownloads) {
    (self.context, self.logs, self.downloads) = (context, logs, downloads)
  }

  /// Sends all merged change sets to the peers that want them and don't have them yet.
  func pushNews(_ id: ZoneID, now: Moment) throws {
    zones[id]?.acknowledgements.note()
    for link in sessions.links(sharing: id) { try sessions.handle(link, .advanced(id), now: now) }
  }

  /// Sends the acknowledgements that were postponed.
  func tick(now: Moment) throws {
    for zone in zones.ids where zones[zone]?.acknowledgements.isOwed == true { try acknowledge(zone, now: now) }
    if !relays.isEmpty, now.steady >= nextRelay { try relay(now: now) }
  }

  /// Passes on what other devices of the account have acknowledged, so that a device also knows this of devices to
  /// which it is never connected. Only the last acknowledgement of each device is passed on.
  private func relay(now: Moment) throws {
    nextRelay = now.steady + Self.relayInterval
    let due = relays
    relays = [:]
    for id in zones.ids where due.values.contains(where: { $0[id] != nil }) {
      let saved = try store.control.acknowledgements(id)
      for link in sessions.links(sharing: id) {
        for device in (due[link]?[id] ?? []).sorted() {
          guard let bytes = saved[device], accounts[account.id]?.isExcluded(device) == false else { continue }
          var reader = ByteReader(bytes)
          sessions.send(link, .acknowledgement(try Acknowledgement(from: &reader)))
        }
      }
    }
  }

  /// Signs the merged vector once it has moved and the work is done, and sends it to the peers.
  func acknowledge(_ id: ZoneID, now: Moment) throws {
    guard let state = zones[id]?.acknowledgements, state.isDue, certificate != nil else { return }
    let links = sessions.links(sharing: id)
    guard !links.isEmpty, zones[id]?.acknowledgements.begin(now: now) == true else { return }
    let merged = try store.log.mergedVector(id)
    guard state.last != merged else { return }
    let interval = Int64(merged.numbers.count / Self.acknowledgedPerMillisecond)
    zones[id]?.acknowledgements.end(merged, next: now.steady + interval)
    try sendTips(links, id, beyond: state.last ?? VersionVector())
    sessions.send(links, .acknowledgement(acknowledgement(id, merged, now: now)))
    downloads.forgetBacklog(id)
  }

  private func acknowledgement(_ id: ZoneID, _ merged: VersionVector, now: Moment) -> Acknowledgement {
    Acknowledgement(
      zone: id, device: device, time: clock.tick(noted: now.wall, now: now.wall), merged: merged,
      controlHeads: zones[id]?.state.heads ?? [], secrets: secrets)
  }

  /// Tells a peer with which the zone is in common from now on what is here.
  func introduce(_ link: LinkID, _ id: ZoneID, now: Moment) throws {
    try sendTips([link], id)
    let merged = try store.log.mergedVector(id)
    sessions.send(
      link, certificate == nil ? .have(id, merged) : .acknowledgement(acknowledgement(id, merged, now: now)))
    downloads.forgetBacklog(id)
    guard sessions[link]?.peer?.account == account.id else { return }
    for other in try store.control.acknowledgements(id).keys { noteRelay(of: other, id, to: link) }
  }

  /// Notes that a device of the account has not heard what another one acknowledged.
  private func noteRelay(of other: DeviceID, _ id: ZoneID, to link: LinkID) {
    guard let peer = sessions[link]?.peer, peer.account == account.id, other != peer.device, other != device,
      zones[id]?.state.account(of: other) == account.id
    else { return }
    relays[link, default: [:]][id, default: []].insert(other)
  }

  /// Sends the tips of the logs.
  ///
  /// - Parameter vector: Only authors that are further than this are sent.
  private func sendTips(_ links: [LinkID], _ id: ZoneID, beyond vector: VersionVector = VersionVector()) throws {
    let tips = try store.log.storedTips(id).filter { $0.value.number > vector[$0.key] }
    guard !tips.isEmpty else { return }
    sessions.send(links, .tips(id, tips.mapValues { Message.LogTip(number: $0.number, id: $0.id) }))
  }

  func learn(_ link: LinkID, _ acknowledgement: Acknowledgement, now: Moment) throws {
    let zone = acknowledgement.zone
    guard let peer = sessions[link]?.peer, sessions.isCommon(zone, link), let state = zones[zone]?.state,
      let owner = state.account(of: acknowledgement.device), state.permission(owner) != nil
    else { return }
    let isRelayed = peer.device != acknowledgement.device
    let isKnown = accounts[owner]?.certificate(acknowledgement.device) != nil
    // The peer can know a device before this one does.
    if isRelayed, !isKnown || acknowledgement.device == device { return }
    guard isKnown, acknowledgement.isSigned(cryptography) else {
      return sessions.end(link, .protocolViolation, "an acknowledgement is not signed by its device")
    }
    try store.control.saveAcknowledgement(
      acknowledgement.encoded, device: acknowledgement.device, time: acknowledgement.time, zone: zone)
    if owner == account.id { passOn(acknowledgement, from: link) }
    guard !isRelayed else { return }
    try sessions.handle(link, .acknowledged(zone, acknowledgement.merged), now: now)
    sessions[link]?.progress.acknowledged(zone, acknowledgement.merged)
    if acknowledgement.controlHeads != Array(state.heads.prefix(Limits.controlHeads)) {
      logs.tellHeads(link, zone, now: now)
    }
  }

  /// Notes that the account's other connected devices are to hear of an acknowledgement, if it says something new.
  private func passOn(_ acknowledgement: Acknowledgement, from link: LinkID) {
    let (id, other) = (acknowledgement.zone, acknowledgement.device)
    let known = heard[id]?[other]
    guard known.map({ $0.time < acknowledgement.time }) ?? true else { return }
    heard[id, default: [:]][other] = acknowledgement
    guard known?.merged != acknowledgement.merged else { return }
    for neighbor in sessions.links(sharing: id) where neighbor != link { noteRelay(of: other, id, to: neighbor) }
  }

  func sendDigest(_ link: LinkID, _ id: ZoneID) throws {
    guard sessions.isCommon(id, link) else { return }
    sessions.send(
      link, .digest(id, try store.log.mergedVector(id), try store.zones.digest(id), try store.capture.unsent(id)))
  }

  /// Asks every peer for its digests. They arrive later.
  func requestDigests() {
    for link in sessions.links {
      for zone in sessions[link]?.machine.commonZones ?? [] {
        sessions[link]?.progress.digested(zone, nil)
        sessions.send(link, .digestRequest(zone))
      }
    }
  }
}

/// The state of this device's acknowledgements of a zone.
struct AcknowledgementState {
  private(set) var last: VersionVector?
  /// True if something was merged since.
  private(set) var isDue = false
  /// True if there was something to acknowledge before the time of the next acknowledgement.
  private(set) var isOwed = false
  /// The earliest time of the next acknowledgement, in milliseconds of the steady clock.
  private var next: Int64 = .min

  mutating func note() { isDue = true }

  /// Begins an acknowledgement, or postpones it. Returns false if it is postponed.
  mutating func begin(now: Moment) -> Bool {
    isOwed = now.steady < next
    if !isOwed { isDue = false }
    return !isOwed
  }

  mutating func end(_ merged: VersionVector, next: Int64) { (last, self.next) = (merged, next) }

  /// Notes that the zone was removed from the file. If its account joins again, its peers know nothing of what it has.
  mutating func forget() { last = nil }
}
