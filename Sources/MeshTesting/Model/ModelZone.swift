import MeshCore

/// One zone of a model store.
struct ModelZone {
  var control: [(id: ControlID, bytes: [UInt8])] = []
  var instance: InstanceID?
  var clock = HybridClock()
  var records: [RecordName: RecordState<String>] = [:]
  var authors: [Author: AuthorLog] = [:]
  /// The merged change sets, in the order of merging.
  var log: [ChangeSet] = []
  /// The position of the first of them. A log that was rebuilt after a cut has positions that nobody has read yet.
  var logStart = 0
  /// The change sets of this account that a cut reverted, by number.
  var reverted: [Author: [UInt64: ChangeSet]] = [:]
  /// The changes that this device wrote, that a cut reverted, and that are to be written again. They contain only its
  /// own cells and life.
  var rewrites: [RecordName: RecordState<String>] = [:]
  var acknowledgements: [DeviceID: (time: HybridTime, bytes: [UInt8])] = [:]

  /// The change sets of one author that are here. Change set number n has the index n − 1.
  struct AuthorLog {
    /// Bytes that may wait to be merged.
    private static let quota = 64 << 20

    var stored: [ChangeSet] = []
    /// The last merged number, which is the end of a unit.
    var merged = 0
    /// The combination of all contexts up to `merged`.
    var context = CausalContext()
    var isMalformed = false

    /// The bytes that are stored and not merged.
    var waiting: Int { stored[merged...].reduce(0) { $0 + $1.bytes.count } }
    /// The part index that the next change set must have.
    var nextPart: UInt64 {
      guard let last = stored.last, !last.header.part.isFinal else { return 0 }
      return last.header.part.index + 1
    }

    /// Returns what becomes of a change set that arrives.
    func outcome(of changeSet: ChangeSet) -> StoreOutcome {
      let header = changeSet.header
      let count = UInt64(stored.count)
      if header.number <= count {
        let known = stored[Int(header.number) - 1].id
        return known == changeSet.id ? .duplicate : .fork(existing: known)
      }
      guard header.number == count + 1 else { return .gap }
      guard header.previous == stored.last?.id else { return .brokenChain }
      if let last = stored.last, header.time <= last.header.time { return .timeNotGreater }
      guard header.part.index == nextPart else { return .partOutOfOrder }
      return waiting + changeSet.bytes.count <= Self.quota ? .stored : .overQuota
    }
  }

  var mergedVector: VersionVector { VersionVector(authors.mapValues { UInt64($0.merged) }) }

  /// Returns the context of a change set that the author makes now.
  func context(of author: Author) -> CausalContext {
    var entries: [Author: CausalContext.Seen] = [:]
    for (other, log) in authors where other != author && log.merged > 0 {
      let last = log.stored[log.merged - 1]
      entries[other] = CausalContext.Seen(number: last.header.number, time: last.header.time)
    }
    return CausalContext(entries)
  }

  /// Returns the last number up to a limit that ends a unit. Returns the limit itself if the log here doesn't reach
  /// beyond it.
  func unitEnd(_ author: Author, _ limit: UInt64?) -> UInt64 {
    guard let limit, let log = authors[author], UInt64(log.stored.count) > limit else { return limit ?? .max }
    return log.stored.prefix(Int(limit)).last(where: \.header.part.isFinal)?.header.number ?? 0
  }

  /// Returns whether a context is merged. Numbers above a cutoff are not waited for.
  func isMerged(_ context: CausalContext, _ reader: ChangeSetReader) -> Bool {
    context.entries.allSatisfy { author, seen in
      let isUnknown = authors[author]?.stored.isEmpty != false
      let limit = reader.cuts[author] ?? (isUnknown ? reader.unknown(author) : nil)
      return min(seen.number, limit ?? .max) <= UInt64(authors[author]?.merged ?? 0)
    }
  }

  struct Wait: Error { let reason: WaitingReason }

  /// Returns the author's log after its next unit, the unit's changes, and the manifests of their assets. Throws the
  /// reason why the unit has to wait.
  func unit(
    _ log: AuthorLog, _ reader: ChangeSetReader, now: Int64, _ cryptography: any Cryptography
  ) throws(Wait) -> (AuthorLog, [TableChanges], [AssetID: AssetManifest]) {
    guard !log.isMalformed else { throw Wait(reason: .malformed) }
    guard let end = log.stored[log.merged...].firstIndex(where: \.header.part.isFinal) else {
      throw Wait(reason: .unfinishedUnit)
    }
    var next = log
    var values = UnitValues(cryptography)
    for changeSet in log.stored[log.merged...end] {
      guard changeSet.header.time.milliseconds <= now + Choices.clockBound else { throw Wait(reason: .futureTime) }
      guard let key = reader.keys[changeSet.header.epoch] else { throw Wait(reason: .epochKey) }
      guard let bytes = changeSet.body(key: key, with: reader.cryptography),
        let body = try? ChangeSetBody(bytes, author: changeSet.header.author),
        (try? next.context.advance(by: body.context)) != nil
      else { throw Wait(reason: .malformed) }
      guard isMerged(next.context, reader) else { throw Wait(reason: .causalPast) }
      guard Rules.broken(by: body, changeSet.header) == nil, values.add(body.content) else {
        throw Wait(reason: .malformed)
      }
    }
    next.merged = end + 1
    return (next, values.tables, values.manifests)
  }

  mutating func merge(_ tables: [TableChanges]) -> Set<RecordName> {
    var touched: Set<RecordName> = []
    for table in tables {
      for row in table.rows {
        let name = RecordName(table: table.table, key: row.key)
        records[name, default: RecordState()].merge(row.state(columns: table.columns))
        touched.insert(name)
      }
    }
    return touched
  }
}

extension RowChange {
  /// Returns the change as a lattice value. Long values are in place already, see `UnitValues`.
  func state(columns: [String]) -> RecordState<String> {
    var cells: [String: RecordState<String>.Cell] = [:]
    for field in fields {
      guard case .value(let value) = field.value else { continue }
      cells[columns[field.column]] = .init(stamp: field.stamp ?? stamp, value: value)
    }
    return RecordState(generation: generation, life: isLife ? stamp : nil, cells: cells)
  }
}

extension ModelZone {
  /// Returns what a revert takes from a record and keeps elsewhere, as the aftermath of its authors says. The values to
  /// write again stay with the zone.
  mutating func takeReverted(
    _ name: RecordName, of state: RecordState<String>, _ aftermath: [Author: Aftermath]
  ) -> (kept: RecordState<String>?, receipt: RecordState<String>?) {
    let after = records[name]
    rewrites[name] = state.reverted(leaving: after, aftermath, .writtenAgain) ?? rewrites[name]
    return (
      state.reverted(leaving: after, aftermath, .kept), state.reverted(leaving: after, aftermath, .receipt)
    )
  }

  /// Empties the zone, and removes the change sets of authors above these numbers. Returns the others that were merged,
  /// in their order.
  mutating func beginAgain(_ limits: [Author: UInt64]) -> [ChangeSet] {
    let rest = log.filter { $0.header.number <= unitEnd($0.header.author, limits[$0.header.author]) }
    for author in limits.keys {
      guard let stored = authors[author]?.stored else { continue }
      let end = Int(clamping: unitEnd(author, limits[author]))
      authors[author]?.stored = Array(stored.prefix(end))
    }
    records = [:]
    logStart += log.count
    log = []
    for author in authors.keys {
      authors[author]?.merged = 0
      authors[author]?.context = CausalContext()
    }
    return rest
  }

  /// Keeps the change sets of authors above these numbers as reverted ones.
  mutating func setAside(_ limits: [Author: UInt64]) {
    for (author, limit) in limits {
      for changeSet in authors[author]?.stored.dropFirst(Int(clamping: unitEnd(author, limit))) ?? [] {
        reverted[author, default: [:]][changeSet.header.number] = changeSet
      }
    }
  }
}

extension RecordState where Column == String {
  /// Returns the values and the life that a cut reverted and whose authors have this aftermath.
  ///
  /// - Parameter after: The record after the cut.
  func reverted(leaving after: Self?, _ aftermath: [Author: Aftermath], _ fate: Aftermath) -> Self? {
    let after = after ?? RecordState()
    let own = cells.filter { column, cell in
      aftermath[cell.stamp.author] == fate
        && (generation != after.generation || after.cells[column]?.stamp != cell.stamp)
    }
    let life = life.flatMap { aftermath[$0.author] == fate && after.life != $0 ? $0 : nil }
    guard !own.isEmpty || life != nil else { return nil }
    return RecordState(generation: generation, life: life, cells: own)
  }
}
