import MeshCore

/// Keeps the keys of epochs: creates them, requests them, and seals them for members' devices.
final class KeyRing: Part {
  /// The number of keys that one peer is asked for again in one round. The keys whose last request is the longest ago
  /// come first. A member that creates thousands of epochs and gives no key therefore can't make other nodes request
  /// all of them every few seconds.
  private static let askedAgain = 256

  let context: Context
  private let logs: ControlLogs
  /// The number of durable writes of arrived keys since the last tick.
  private var writes = 0

  init(_ context: Context, _ logs: ControlLogs) { (self.context, self.logs) = (context, logs) }

  /// Creates an epoch with a fresh key that covers everything known here. Nothing happens if this device has used up
  /// its control records. Then another device creates one.
  func mint(_ id: ZoneID, now: Moment) throws {
    guard logs.hasNumber(id), let (record, key) = try newEpoch(id) else { return }
    if zones[id]?.state.epochs.isEmpty == false { probe?(.epochChanged) }
    try logs.publish(record)
    know(record, key)
    for link in sessions.links(sharing: id) { send(link, id, [EpochID(record.id.bytes)].compactMap(\.self)) }
  }

  /// Returns the record of a new epoch and its key. The key is stored durably before the record is, because an epoch
  /// whose key no device has would stop every writer.
  func newEpoch(_ id: ZoneID) throws -> (record: ControlRecord, key: EpochKey)? {
    guard let key = EpochKey(randomness.bytes(32)) else { return nil }
    let record = try logs.record(.epoch(commitment: key.commitment(cryptography)), id)
    guard let epoch = EpochID(record.id.bytes) else { return nil }
    try vault.saveEpochKeys([epoch: key], zone: id)
    return (record, key)
  }

  func know(_ record: ControlRecord, _ key: EpochKey) {
    logs.know(record)
    guard let epoch = EpochID(record.id.bytes) else { return }
    zones[record.zone]?.add([epoch: key])
    zones[record.zone]?.keys.noteMinted()
  }

  /// Creates an epoch if no current epoch has its key here.
  ///
  /// If there is no such epoch, this happens immediately. Otherwise it happens when the key has been missing for a
  /// while, because its creator disappeared before any other device had it, or withholds it. Writers use any current
  /// epoch whose key they have.
  func replaceMissing(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id] else { return }
    let isMissing = mayWrite(zone) && zone.keys.writing == nil
    guard let time = zones[id]?.keys.noteMissing(isMissing, now: now),
      zone.state.currentEpoch == nil || time > Self.keyPatience
    else { return }
    try mint(id, now: now)
    due.note(.flush)
  }

  /// The milliseconds that the key of the current epoch may be missing. They allow several requests to all connected
  /// peers.
  private static let keyPatience: Int64 = 30_000

  /// Requests all missing keys of the common zones.
  func request(_ link: LinkID) {
    for id in sessions[link]?.machine.commonZones ?? [] {
      request(link, id, zones[id]?.keys.lacking.sorted() ?? [])
    }
  }

  /// Requests missing keys.
  ///
  /// If they are few, all are requested whenever something has changed, because nothing is flushed or merged before
  /// they arrive. Otherwise only some are requested each time. Every key is requested eventually, so epochs whose keys
  /// no device gives can't block requests for others.
  func request(_ link: LinkID, _ id: ZoneID, _ some: [EpochID]) {
    guard let zone = zones[id], sessions[link]?.machine.isOpen == true else { return }
    let lacking = zone.keys.lacking.count <= Limits.controlBatch ? zone.keys.lacking.sorted() : some
    sessions[link]?.keys.requested(lacking, id)
    for start in stride(from: 0, to: lacking.count, by: Limits.controlBatch) {
      sessions.send(link, .keyRequest(id, Array(lacking[start..<min(start + Limits.controlBatch, lacking.count)])))
    }
  }

  /// Begins a new round: requests the keys again whose last request is the longest ago.
  func requestAgain(_ link: LinkID) {
    sessions[link]?.keys.forgetGiven()
    let oldest = sessions[link]?.keys.takeOldest(Self.askedAgain) ?? []
    for id in sessions[link]?.machine.commonZones ?? [] {
      let lacking = oldest.filter { $0.zone == id && zones[id]?.keys.lacking.contains($0.epoch) == true }
      request(link, id, lacking.map(\.epoch))
    }
  }

  private func sealContext(_ zone: ZoneID, _ epoch: EpochID, _ recipient: DeviceID) -> [UInt8] {
    zone.bytes + epoch.bytes + recipient.bytes
  }

  /// The maximum number of times that a key is sent between two rounds of requests: once when it was created, once on
  /// request, and as often again.
  private static let timesGiven = 4

  /// Sends keys to a member's device whose certificate is valid.
  func send(_ link: LinkID, _ id: ZoneID, _ epochs: [EpochID]) {
    guard let peer = sessions[link]?.peer, let zone = zones[id],
      let owner = zone.state.account(of: peer.device), owner == peer.account,
      let certificate = accounts[owner]?.certificate(peer.device), zone.state.permission(owner) != nil,
      zone.state.cuts[peer.device] == nil
    else { return }
    var sealed: [EpochID: [UInt8]] = [:]
    // More keys than fit into one message may have arrived here.
    for epoch in epochs {
      if sealed.count == Limits.controlBatch {
        sessions.send(link, .keys(id, sealed))
        sealed = [:]
      }
      // A peer asks again after some seconds while it misses a key. The keys that it was sent since then are still
      // travelling.
      guard let key = zone.keys.known[epoch], zone.state.epochs[epoch] != nil,
        sessions[link]?.keys.mayGive(epoch, times: Self.timesGiven) ?? true
      else { continue }
      sessions[link]?.keys.gave(epoch)
      sealed[epoch] = cryptography.seal(
        key.bytes, to: certificate.request.sealingKey, epoch: epoch.bytes,
        context: sealContext(id, epoch, certificate.device))
    }
    if !sealed.isEmpty { sessions.send(link, .keys(id, sealed)) }
  }

  /// Verifies arrived keys, and stores them with the next durable write. One write takes all keys that arrive within a
  /// while, because a member can create thousands of epochs and send each key in its own message.
  func learn(_ id: ZoneID, _ sealed: [EpochID: [UInt8]]) throws {
    for (epoch, bytes) in sealed.sorted(by: { $0.key < $1.key }) {
      guard let zone = zones[id], !zone.keys.has(epoch),
        let record = zone.state.epochs[epoch], hasRoomForKey(of: record, zone),
        let secret = secrets.open(bytes, epoch: epoch.bytes, context: sealContext(id, epoch, device)),
        let key = EpochKey(secret), key.commitment(cryptography) == record.commitment
      else { continue }
      zones[id]?.keys.arrive(key, of: epoch)
    }
    if writes < Self.keyWrites { try keep() }
  }

  /// The maximum number of durable writes of arrived keys between two ticks. An honest peer sends all its keys in one
  /// message.
  private static let keyWrites = 16

  /// Returns whether there is room for a key. Epochs of this account and of the zone's owner always have room, and no
  /// other account can take it.
  private func hasRoomForKey(of epoch: ZoneState.Epoch, _ zone: Zone) -> Bool {
    if zone.keys.count < Choices.epochKeys { return true }
    let minter = zone.state.account(of: epoch.minter)
    return minter == account.id || minter == zone.state.owner
  }

  func tick() throws {
    writes = 0
    try keep()
  }

  /// Stores arrived keys. They are used once they would survive a power failure.
  private func keep() throws {
    for id in zones.ids {
      guard let arrived = zones[id]?.keys.arrived, !arrived.isEmpty else { continue }
      try vault.saveEpochKeys(arrived, zone: id)
      zones[id]?.addArrivedKeys()
      writes += 1
      // Records that move between zones wait for the keys of both.
      due.noteMerges(zones.ids)
      due.note(.flush)
      // Others may have requested them before they were here.
      for other in sessions.links(sharing: id) { send(other, id, arrived.keys.sorted()) }
    }
  }
}

/// The epochs whose keys a peer was asked for, or was sent. A member can create thousands of them and give no key.
struct KeyProgress {
  /// The requests, the oldest first.
  private var order: ArraySlice<(zone: ZoneID, epoch: EpochID)> = []
  private var asked: Set<EpochID> = []
  /// The number of times that each epoch's key was sent to the peer since keys were last requested.
  private var given: [EpochID: Int] = [:]

  mutating func requested(_ epochs: [EpochID], _ zone: ZoneID) {
    for epoch in epochs where asked.insert(epoch).inserted { order.append((zone, epoch)) }
  }

  mutating func takeOldest(_ count: Int) -> [(zone: ZoneID, epoch: EpochID)] {
    let oldest = Array(order.prefix(count))
    order.removeFirst(oldest.count)
    asked.subtract(oldest.map(\.epoch))
    return oldest
  }

  mutating func forgetRequests() { (order, asked) = ([], []) }

  func mayGive(_ epoch: EpochID, times: Int) -> Bool { given[epoch] ?? 0 < times }
  mutating func gave(_ epoch: EpochID) { given[epoch, default: 0] += 1 }
  mutating func forgetGiven() { given = [:] }
}
