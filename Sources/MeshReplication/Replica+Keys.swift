import MeshCore

/// Keeps the keys of epochs: creates them, requests them, and seals them for members' devices.
extension Replica {
  /// Returns whether this device may create epochs and write, according to the log.
  func mayWrite(_ zone: Zone) -> Bool {
    certificate != nil && zone.state.cuts[device] == nil && zone.state.permission(account.id) == .readWrite
  }

  /// Creates an epoch with a fresh key that covers everything known here. Nothing happens if this device has used up
  /// its control records. Then another device creates one.
  func mintEpoch(_ id: ZoneID, now: Moment) throws {
    guard zones[id].map(hasNumber) != false, let (record, key) = try newEpoch(id) else { return }
    if zones[id]?.state.epochs.isEmpty == false { probe?(.epochChanged) }
    try publish(record)
    know(record, key)
    for link in links(sharing: id) { sendKeys(link, id, [EpochID(record.id.bytes)].compactMap(\.self)) }
  }

  /// Returns the record of a new epoch and its key. The key is stored durably before the record is, because an epoch
  /// whose key no device has would stop every writer.
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

  /// Creates an epoch if no current epoch has its key here.
  ///
  /// If there is no such epoch, this happens immediately. Otherwise it happens when the key has been missing for a
  /// while, because its creator disappeared before any other device had it, or withholds it. Writers use any current
  /// epoch whose key they have.
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

  /// The milliseconds that the key of the current epoch may be missing. They allow several requests to all connected
  /// peers.
  private static let keyPatience: Int64 = 30_000

  /// Requests all missing keys of the common zones.
  func requestKeys(_ link: LinkID) {
    for id in sessions[link]?.conversation.commonZones ?? [] {
      requestKeys(link, id, zones[id]?.lackingKeys.sorted() ?? [])
    }
  }

  /// Requests missing keys.
  ///
  /// If they are few, all are requested whenever something has changed, because nothing is flushed or merged before
  /// they arrive. Otherwise only some are requested each time. Every key is requested eventually, so epochs whose keys
  /// no device gives can't block requests for others.
  func requestKeys(_ link: LinkID, _ id: ZoneID, _ some: [EpochID]) {
    guard let zone = zones[id], sessions[link]?.conversation.isOpen == true else { return }
    let lacking = zone.lackingKeys.count <= Limits.controlBatch ? zone.lackingKeys.sorted() : some
    sessions[link]?.keyRequests.note(lacking, id)
    for start in stride(from: 0, to: lacking.count, by: Limits.controlBatch) {
      send(link, .keyRequest(id, Array(lacking[start..<min(start + Limits.controlBatch, lacking.count)])))
    }
  }

  /// Requests the keys again whose last request is the longest ago.
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

  /// The maximum number of times that a key is sent between two rounds of requests: once when it was created, once on
  /// request, and as often again.
  private static let timesGiven = 4

  /// Sends keys to a member's device whose certificate is valid.
  func sendKeys(_ link: LinkID, _ id: ZoneID, _ epochs: [EpochID]) {
    guard let peer = sessions[link]?.peer, let zone = zones[id],
      let owner = zone.state.account(of: peer.device), owner == peer.account,
      let certificate = accounts[owner]?.certificate(peer.device), zone.state.permission(owner) != nil,
      zone.state.cuts[peer.device] == nil
    else { return }
    var sealed: [EpochID: [UInt8]] = [:]
    // More keys than fit into one message may have arrived here.
    for epoch in epochs {
      if sealed.count == Limits.controlBatch {
        send(link, .keys(id, sealed))
        sealed = [:]
      }
      // A peer asks again after some seconds while it misses a key. The keys that it was sent since then are still
      // travelling.
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

  /// Verifies arrived keys, and stores them with the next durable write. One write takes all keys that arrive within a
  /// while, because a member can create thousands of epochs and send each key in its own message.
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

  /// The maximum number of durable writes of arrived keys between two ticks. An honest peer sends all its keys in one
  /// message.
  private static let keyWrites = 16

  /// Returns whether there is room for a key. Epochs of this account and of the zone's owner always have room, and no
  /// other account can take it.
  private func hasRoomForKey(of epoch: ZoneState.Epoch, _ zone: Zone) -> Bool {
    if zone.keys.count + zone.arrivedKeys.count < Choices.epochKeys { return true }
    let minter = zone.state.account(of: epoch.minter)
    return minter == account.id || minter == zone.state.owner
  }

  /// Stores arrived keys. They are used once they would survive a power failure.
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
      // Others may have requested them before they were here.
      for other in links(sharing: id) { sendKeys(other, id, arrived.keys.sorted()) }
    }
  }
}

/// The epochs whose keys a peer was asked for. A member can create thousands of them and give no key.
struct KeyRequests {
  /// The requests, the oldest first.
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
