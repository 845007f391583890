import MeshCore

/// The control logs of the zones: sends them to peers, and appends the records of this device.
final class ControlLogs: Part {
  /// The bytes that can be sent in the time that it takes to visit a record.
  private static let visit = 8
  /// The milliseconds between two announcements of the same heads to a peer.
  private static let tellingInterval: Int64 = 1_000

  let context: Context
  private let copies: AssetCopies
  /// The bytes of control logs that each account may be sent.
  private var sending = Allowances<AccountID>(rate: Choices.controlSendingPerMillisecond)

  init(_ context: Context, _ copies: AssetCopies) { (self.context, self.copies) = (context, copies) }

  func forgetUnused(now: Moment) { sending.forgetUnused(now: now) }

  /// Reads a zone's stored records and keys.
  func load(_ id: ZoneID) throws {
    var zone = Zone(id)
    for bytes in try store.control.controlRecords(id) {
      // A share may have been joined without the states of all accounts. Records of uncertified devices have no effect,
      // but without them the records that follow would be refused.
      guard let record = try? ControlRecord(bytes, cryptography),
        zone.isSound(record, accounts, isLacking: true, cryptography)
      else { continue }
      zone.insert(record, cryptography)
    }
    zone.add(try vault.epochKeys(id))
    zones.add(zone, id)
    recompute(id)
  }

  /// Throws if the file's private zone belongs to another account.
  ///
  /// A file has one private zone, and it belongs to the file's account. A stored account state proves nothing, because
  /// a file also knows all participants of its shares.
  func requireOwn(_ id: ZoneID) throws {
    for bytes in try store.control.controlRecords(id) {
      guard case .genesis(let owner, _)? = try? ControlRecord(bytes, cryptography).act, owner != account.id else {
        continue
      }
      throw ReplicaError.foreignDatabase
    }
  }

  /// Reads new records into the zone's state, and returns the new epochs whose keys are missing here.
  @discardableResult
  func recompute(_ id: ZoneID) -> [EpochID] {
    zones[id]?.read(accounts, revision: book.changes, cryptography) ?? []
  }

  // MARK: Sending

  /// Sends a peer the records that don't lead to the heads, once its account may be sent more. Only the last of several
  /// requests counts.
  func give(_ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID], now: Moment) throws {
    sessions[link]?.outflow.ask(zone, beyond: heads)
    try sendAsked(link, now: now)
  }

  func sendAsked(_ link: LinkID, now: Moment) throws {
    guard let asked = sessions[link]?.outflow.asked, let peer = sessions[link]?.peer else { return }
    for (id, heads) in asked.sorted(by: { $0.key < $1.key }) {
      guard let log = zones[id]?.log else { continue }
      let bound = max(Choices.controlSending, 2 * log.bytes)
      // Finding the missing records takes a visit to each record.
      guard sending.take(Self.visit * log.count, of: peer.account, bound: bound, now: now) else { return }
      sessions[link]?.outflow.answered(id)
      let bytes = try send(link, id, beyond: heads)
      sending.take(bytes, of: peer.account, now: now)
    }
  }

  /// Sends the records that don't lead to the heads and that the peer may know, in pieces, as fast as the connection
  /// accepts them. The rest of an earlier answer is dropped.
  ///
  /// - Parameter closing: The message to send after the last piece.
  /// - Returns: The number of bytes.
  @discardableResult
  func send(_ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID], closing: Message? = nil) throws -> Int {
    guard let log = zones[zone]?.log else { return 0 }
    let visible = sessions[link]?.peer.flatMap { zones[zone]?.visibleRecords(to: $0.account, here: account.id) }
    let lacking = log.records(beyond: heads).filter { visible?.contains($0.id) != false }
    sessions[link]?.outflow.put(lacking.map(\.id)[...], of: zone, closing: closing)
    try pour(link)
    return lacking.reduce(0) { $0 + $1.size }
  }

  /// Sends the delayed messages of a session while its connection accepts them.
  func pour(_ link: LinkID) throws {
    while let piece = sessions[link]?.outflow.takePiece() {
      switch piece {
      case .records(let zone, let ids, let closing):
        let batch = ids.compactMap { zones[zone]?.log[$0]?.encoded }
        if !batch.isEmpty { sessions.send(link, .controlRecords(zone, batch)) }
        if let closing { sessions.send(link, closing) }
      case .chunk(let chunk):
        try copies.give(link, chunk)
      }
    }
  }

  /// Tells a peer which records are here, so that it sends others. New heads are told immediately, and unchanged ones
  /// after an interval.
  func tellHeads(_ link: LinkID, _ zone: ZoneID, now: Moment) {
    let heads = zones[zone]?.state.heads ?? []
    if let told = sessions[link]?.control.toldHeads[zone], told.heads == heads,
      now.steady &- told.at < Self.tellingInterval
    {
      sessions[link]?.control.owe(zone)
      return
    }
    sessions[link]?.control.told(zone, heads, now: now)
    sessions.send(link, .controlHeads(zone, heads))
  }

  func tellOwedHeads(_ link: LinkID, now: Moment) {
    for zone in sessions[link]?.control.owedHeads.sorted() ?? [] { tellHeads(link, zone, now: now) }
  }

  /// Sends new records to the peers that get the zone's news.
  func passOn(_ records: [ControlRecord], _ id: ZoneID, besides source: LinkID? = nil) {
    for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
      let slice = records[start..<min(start + Limits.controlBatch, records.count)].map(\.encoded)
      for link in sessions.links(hearing: id, account.id) where link != source {
        sessions.send(link, .controlRecords(id, slice))
      }
    }
  }

  // MARK: Records of this device

  /// Appends a record of this device to a zone's log and sends it to the peers.
  func append(_ act: ControlAct, _ id: ZoneID) throws { try publish(try record(act, id)) }

  func record(_ act: ControlAct, _ id: ZoneID) throws -> ControlRecord {
    guard hasNumber(id) else { throw ReplicaError.notReady(usedUpNumbers(id)) }
    let own = zones[id]?.log.last(of: device)
    return try ControlRecord(
      zone: id, parents: zones[id]?.state.heads ?? [], number: (own?.number ?? 0) + 1, previous: own?.id, act: act,
      secrets: secrets, cryptography)
  }

  /// Returns whether this device can write one more record. All devices refuse a record with a higher number.
  func hasNumber(_ id: ZoneID) -> Bool { lastNumber(id) < Choices.controlRecords }

  private func lastNumber(_ id: ZoneID) -> UInt64 { zones[id]?.log.last(of: device)?.number ?? 0 }

  func usedUpNumbers(_ id: ZoneID) -> String {
    let title = printable(zones[id]?.state.title ?? "")
    let zone = title.isEmpty ? "the account's private zone" : "the share “\(title)”"
    return
      "this device has written \(Choices.controlRecords) records to the control log of \(zone), as many as a device can: do it on "
      + "another device of the account, or add one (mesh device invite)"
  }

  /// Returns whether this device may publish proofs about others. It reserves half of its numbers for its own actions.
  func mayProve(_ id: ZoneID) -> Bool {
    guard let state = zones[id]?.state else { return false }
    return certificate != nil && state.cuts[device] == nil && state.permission(account.id) != nil
      && lastNumber(id) < Choices.provingRecords
  }

  func publish(_ record: ControlRecord) throws {
    try store.control.insertControlRecord(record.encoded, id: record.id, zone: record.zone)
    know(record)
    passOn([record], record.zone)
  }

  /// Adds a record of this device that is stored, or about to be. The caller acts on the new state.
  func know(_ record: ControlRecord) {
    zones.open(record.zone)
    zones[record.zone]?.insert(record, cryptography)
    zones[record.zone]?.news.note([])
    recompute(record.zone)
  }
}

/// The heads of control logs that a peer was told.
struct ControlProgress {
  /// The heads of control logs that the peer was last told, and the time.
  private(set) var toldHeads: [ZoneID: (heads: [ControlID], at: Int64)] = [:]
  /// Zones whose heads the peer is told again later.
  private(set) var owedHeads: Set<ZoneID> = []

  mutating func owe(_ zone: ZoneID) { owedHeads.insert(zone) }

  mutating func told(_ zone: ZoneID, _ heads: [ControlID], now: Moment) {
    owedHeads.remove(zone)
    toldHeads[zone] = (heads, now.steady)
  }
}
