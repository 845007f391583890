import MeshCore

/// Keys of epochs: minted, asked for, sealed to the devices of members.
extension Replica {
  /// Whether this device may mint and write, as far as the log goes.
  func mayWrite(_ zone: Zone) -> Bool {
    certificate != nil && zone.state.cuts[device] == nil && zone.state.permission(account.id) == .readWrite
  }

  /// A fresh key over all that is known. Nothing happens if this device has used up its numbers: another one mints.
  func mintEpoch(_ id: ZoneID, now: Moment) throws {
    guard zones[id].map(hasNumber) != false, let (record, key) = try newEpoch(id) else { return }
    try publish(record)
    know(record, key)
    for link in links(sharing: id) { sendKeys(link, id, [EpochID(record.id.bytes)].compactMap(\.self)) }
  }

  /// The record of an epoch, and its key, which is kept durably before the record is: an epoch whose key nobody has would
  /// stop every writer.
  func newEpoch(_ id: ZoneID) throws -> (record: ControlRecord, key: EpochKey)? {
    guard let key = EpochKey(randomness.bytes(32)) else { return nil }
    let record = try record(.epoch(commitment: key.commitment(cryptography)), id)
    guard let epoch = EpochID(record.id.bytes) else { return nil }
    try vault.saveEpochKeys([epoch: key], zone: id)
    return (record, key)
  }

  func know(_ record: ControlRecord, _ key: EpochKey) {
    know(record)
    guard let epoch = EpochID(record.id.bytes) else { return }
    zones[record.zone]?.add([epoch: key])
    zones[record.zone]?.keyMissingSince = nil
  }

  /// Where no epoch that encrypts has its key here this device mints one: at once where there is no such epoch, else when the
  /// key has not come for a while (its minter went away before anybody had it, or keeps it). Writers use any current epoch
  /// whose key they have.
  func replaceMissingEpoch(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], mayWrite(zone), zone.lacksKey else {
      zones[id]?.keyMissingSince = nil
      return
    }
    let since = zone.keyMissingSince ?? now.steady
    zones[id]?.keyMissingSince = since
    guard zone.state.currentEpoch == nil || now.steady - since > Self.keyPatience else { return }
    try mintEpoch(id, now: now)
    needsFlush = true
  }

  /// How long the key of the current epoch may be missing, in milliseconds: several requests to everybody connected.
  private static let keyPatience: Int64 = 30_000

  /// Asks for all keys that are not here, of the zones that are in common.
  func requestKeys(_ link: LinkID) {
    for id in sessions[link]?.conversation.commonZones ?? [] {
      requestKeys(link, id, zones[id]?.lackingKeys.sorted() ?? [])
    }
  }

  /// Asks for keys that are not here. If they are few, all are asked for whenever something has changed: until they come, nothing is
  /// flushed or merged. Else some are; but each is in the end, or epochs whose keys nobody gives would keep those of others from
  /// being asked for.
  func requestKeys(_ link: LinkID, _ id: ZoneID, _ some: [EpochID]) {
    guard let zone = zones[id], sessions[link]?.conversation.isOpen == true else { return }
    let lacking = zone.lackingKeys.count <= Limits.controlBatch ? zone.lackingKeys.sorted() : some
    sessions[link]?.keyRequests.note(lacking, id)
    for start in stride(from: 0, to: lacking.count, by: Limits.controlBatch) {
      send(link, .keyRequest(id, Array(lacking[start..<min(start + Limits.controlBatch, lacking.count)])))
    }
  }

  /// Asks once more for those keys that were asked for longest ago.
  func requestKeysAgain(_ link: LinkID) {
    let oldest = sessions[link]?.keyRequests.takeOldest(Self.keysAskedAgain) ?? []
    for id in sessions[link]?.conversation.commonZones ?? [] {
      let lacking = oldest.filter { $0.zone == id && zones[id]?.lackingKeys.contains($0.epoch) == true }
      requestKeys(link, id, lacking.map(\.epoch))
    }
  }

  private func sealContext(_ zone: ZoneID, _ epoch: EpochID, _ recipient: DeviceID) -> [UInt8] {
    zone.bytes + epoch.bytes + recipient.bytes
  }

  /// How often a key is sent between two rounds of asking: once it was minted, once it was asked for, and as often again.
  private static let timesGiven = 4

  /// To a member's device, whose certificate stands.
  func sendKeys(_ link: LinkID, _ id: ZoneID, _ epochs: [EpochID]) {
    guard let peer = sessions[link]?.peer, let zone = zones[id],
      let owner = zone.state.account(of: peer.device), owner == peer.account,
      let certificate = accounts[owner]?.certificate(peer.device), zone.state.permission(owner) != nil,
      zone.state.cuts[peer.device] == nil
    else { return }
    var sealed: [EpochID: [UInt8]] = [:]
    // More than one message holds may have come here.
    for epoch in epochs {
      if sealed.count == Limits.controlBatch {
        send(link, .keys(id, sealed))
        sealed = [:]
      }
      // A peer asks again after some seconds, as long as it lacks a key. What it was sent since is on its way.
      guard let key = zone.keys[epoch], zone.state.epochs[epoch] != nil,
        sessions[link]?.givenKeys[epoch, default: 0] ?? 0 < Self.timesGiven
      else { continue }
      sessions[link]?.givenKeys[epoch, default: 0] += 1
      sealed[epoch] = cryptography.seal(
        key.bytes, to: certificate.request.sealingKey, epoch: epoch.bytes,
        context: sealContext(id, epoch, certificate.device))
    }
    if !sealed.isEmpty { send(link, .keys(id, sealed)) }
  }

  /// Verifies keys that came, and keeps them with the next durable write: one for all that come within a while, for a member can
  /// mint thousands of epochs and send each key alone.
  func learnKeys(_ id: ZoneID, _ sealed: [EpochID: [UInt8]]) throws {
    for (epoch, bytes) in sealed.sorted(by: { $0.key < $1.key }) {
      guard let zone = zones[id], zone.keys[epoch] == nil, zone.arrivedKeys[epoch] == nil,
        let record = zone.state.epochs[epoch], hasRoomForKey(of: record, zone),
        let secret = secrets.open(bytes, epoch: epoch.bytes, context: sealContext(id, epoch, device)),
        let key = EpochKey(secret), key.commitment(cryptography) == record.commitment
      else { continue }
      zones[id]?.arrivedKeys[epoch] = key
    }
    if keysKept < Self.keyWrites { try keepKeys() }
  }

  /// Durable writes of keys that came, between two ticks: an honest peer sends all that it has in one message.
  private static let keyWrites = 16

  /// The account's own epochs and those of the zone's owner always have room: nobody else's can take it.
  private func hasRoomForKey(of epoch: ZoneState.Epoch, _ zone: Zone) -> Bool {
    if zone.keys.count + zone.arrivedKeys.count < Choices.epochKeys { return true }
    let minter = zone.state.account(of: epoch.minter)
    return minter == account.id || minter == zone.state.owner
  }

  /// Keys are used once they would survive a power cut.
  func keepKeys() throws {
    for id in zones.keys.sorted() {
      guard let arrived = zones[id]?.arrivedKeys, !arrived.isEmpty else { continue }
      try vault.saveEpochKeys(arrived, zone: id)
      zones[id]?.arrivedKeys = [:]
      zones[id]?.add(arrived)
      keysKept += 1
      // Records that move between zones wait for the keys of both.
      for zone in zones.keys { zones[zone]?.needsApply = true }
      needsFlush = true
      // Others may have asked for them before they were here.
      for other in links(sharing: id) { sendKeys(other, id, arrived.keys.sorted()) }
    }
  }
}

/// Epochs whose keys a peer was asked for. A member can mint them by the thousand and give none.
struct KeyRequests {
  /// The one that was asked for longest ago comes first.
  private var order: ArraySlice<(zone: ZoneID, epoch: EpochID)> = []
  private var asked: Set<EpochID> = []

  mutating func note(_ epochs: [EpochID], _ zone: ZoneID) {
    for epoch in epochs where asked.insert(epoch).inserted { order.append((zone, epoch)) }
  }

  mutating func takeOldest(_ count: Int) -> [(zone: ZoneID, epoch: EpochID)] {
    let oldest = Array(order.prefix(count))
    order.removeFirst(oldest.count)
    asked.subtract(oldest.map(\.epoch))
    return oldest
  }
}
