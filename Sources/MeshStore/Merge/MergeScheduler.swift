import MeshCore

/// A cache of a zone's merge state between two slices. It only saves work.
struct MergeCache {
  /// The decoded part of a unit that is being merged slice by slice.
  var inHand: (id: ChangeSetID, body: ChangeSetBody)?
  /// The accounts that are still to be served in this round, the next one last. An account is given by its authors that had
  /// change sets to merge.
  var round: [[Int64]] = []
  /// For each account, the number of the author whose change sets were merged last.
  var last: [WaitingQuota.Owner: Int64] = [:]
  /// Whether long values were merged that may only be in the WAL yet.
  var hasLongInWAL = false
  /// The conditions that authors wait for, by the author's number.
  var waits: [Int64: Wait] = [:]

  /// The condition that an author's next change set waits for. It is remembered so that the change set is decrypted and
  /// decoded only once, however many others arrive meanwhile.
  struct Wait {
    enum Until {
      case merged(Author, UInt64)
      case time(HybridTime)
      case key(EpochID)
      /// More of the author's change sets are stored.
      case stored
    }

    let applied: UInt64
    let appliedRows: Int64
    /// The author's last stored change set. It identifies all of them, because each names the one before.
    var storedID: ChangeSetID?
    /// The change set that waits, or nil if a unit has no end yet.
    let next: ChangeSetID?
    let reason: WaitingReason
    let until: Until
  }
}

/// The rows of one author that one transaction merges: whole parts, and possibly some rows of the last part.
struct MergeBatch {
  var head: AuthorHead
  let author: Author
  var parts: [BatchPart] = []
  var isUnitEnd = false
  /// The values of the rows that travel in pieces, by ordinal. They are put together before the write lock is taken.
  var long: [UInt64: [UInt8]] = [:]

  var rowCount: Int { parts.reduce(0) { $0 + $1.rows.count } }
}

/// One change set of a batch, decoded.
struct BatchPart {
  let header: ChangeSetHeader
  let id: ChangeSetID
  let body: ChangeSetBody
  let size: Int
  /// The state that the author had merged.
  let context: CausalContext
  /// The rows to merge, counted over all tables.
  var rows: Range<Int>
  let rowCount: Int
}

/// Finds the next stored unit whose causal past is merged, and decodes as much of it as one transaction can merge.
struct MergeScheduler {
  enum Choice {
    /// The slices that one transaction merges, in this order: the ends of units, or one slice that leaves a part of its unit
    /// for later.
    case slices([MergeBatch])
    /// The unit can never be merged. The reason is noted at its author's tip.
    case malformed(AuthorHead, String)
    case idle([WaitingReason: Int])
  }

  let transaction: Transaction
  let zone: ZoneCounters
  let reader: ChangeSetReader
  let now: Int64
  private let owners: Accounts
  private var waiting: [WaitingReason: Int] = [:]
  /// For each author, by number, the state after the slices that were chosen so far.
  private var ahead: [Int64: (head: AuthorHead, context: CausalContext)] = [:]
  private var budget = Budget()

  /// - Parameter owners: The accounts, which know their devices.
  init(_ transaction: Transaction, zone: ZoneCounters, _ reader: ChangeSetReader, _ owners: Accounts, now: Int64) {
    self.transaction = transaction
    self.zone = zone
    self.reader = reader
    self.owners = owners
    self.now = now
  }

  /// Returns what the next transaction merges. Small units are merged together, because a transaction of its own, with its
  /// sync, costs many times as much as a small unit.
  mutating func choose(_ turns: inout MergeCache) throws -> Choice {
    var slices: [MergeBatch] = []
    while true {
      let slice: MergeBatch
      // A unit that can't be merged is met again, after the others are merged.
      switch try next(&turns) {
      case .slice(let next): slice = next
      case .malformed(let head, let reason): return slices.isEmpty ? .malformed(head, reason) : .slices(slices)
      case .idle: return slices.isEmpty ? .idle(waiting) : .slices(slices)
      }
      if !slice.isUnitEnd, !slices.isEmpty {
        // It comes first the next time, and with the whole budget. Otherwise the merged state would contain a part of a unit
        // beyond the merged vector, and a unit that fits into a transaction would be split.
        transaction.reached(.unitPutFirst)
        turns.round.append([slice.head.author])
        return .slices(slices)
      }
      slices.append(slice)
      guard slice.isUnitEnd, budget.endUnit(slice), let last = slice.parts.last else { return .slices(slices) }
      var head = slice.head
      head.finish(last)
      ahead[head.author] = (head, last.context)
    }
  }

  private enum Turn {
    case slice(MergeBatch)
    case malformed(AuthorHead, String)
    case idle
  }

  private mutating func next(_ turns: inout MergeCache) throws -> Turn {
    // A unit that was begun is finished first. Then accounts take turns, so that an account that floods the zone can't make
    // others wait, as however many authors it writes.
    let begun = try transaction.catalog.heads.begun(zone.id).filter { ahead[$0] == nil }
    if let turn = try choose(from: begun, &turns) { return turn }
    while let authors = turns.round.popLast() {
      if let turn = try choose(from: authors, &turns) { return turn }
    }
    waiting = [:]
    turns.round = try round(turns)
    while let authors = turns.round.popLast() {
      if let turn = try choose(from: authors, &turns) { return turn }
    }
    return .idle
  }

  /// Returns the authors that have change sets to merge, by account. A round looks at each of them once and merges a slice of
  /// each account. The authors of an account are bounded, and so is the number of looks for each slice.
  private func round(_ turns: MergeCache) throws -> [[Int64]] {
    var places: [WaitingQuota.Owner: Int] = [:]
    var accounts: [(owner: WaitingQuota.Owner, authors: [Int64])] = []
    for number in try transaction.catalog.heads.unmerged(zone.id) {
      let owner = WaitingQuota.owner(try transaction.catalog.author(number).device, owners)
      if let place = places[owner] {
        accounts[place].authors.append(number)
      } else {
        places[owner] = accounts.count
        accounts.append((owner, [number]))
      }
    }
    return accounts.reversed().map { account in
      let last = turns.last[account.owner] ?? 0
      return account.authors.filter { $0 > last } + account.authors.filter { $0 <= last }
    }
  }

  private mutating func choose(from authors: [Int64], _ turns: inout MergeCache) throws -> Turn? {
    for number in authors {
      guard let head = try head(number), head.stored > head.applied else { continue }
      let author = try transaction.catalog.author(number)
      do {
        guard let slice = try slice(head, author, &turns) else { continue }
        turns.last[WaitingQuota.owner(author.device, owners)] = number
        return .slice(slice)
      } catch let fault as MalformedChangeSet {
        return .malformed(head, fault.reason)
      }
    }
    return nil
  }

  private func head(_ author: Int64) throws -> AuthorHead? {
    try ahead[author]?.head ?? transaction.catalog.heads.find(author, zone.id)
  }

  private mutating func count(_ reason: WaitingReason, _ head: AuthorHead) {
    waiting[reason, default: 0] += Int(clamping: head.stored - head.applied)
  }

  /// Counts the reason why a change set waits, and remembers it.
  ///
  /// - Parameters:
  ///   - next: The change set with the number `number`, or nil if its unit has no end yet.
  private mutating func wait(
    _ reason: WaitingReason, until: MergeCache.Wait.Until, _ head: AuthorHead, _ number: UInt64, _ next: ChangeSetID?,
    _ turns: inout MergeCache
  ) {
    count(reason, head)
    // Within a slice, the parts before it are merged first.
    guard number == head.applied + 1 else { return }
    turns.waits[head.author] = MergeCache.Wait(
      applied: head.applied, appliedRows: head.appliedRows, storedID: head.storedID, next: next, reason: reason,
      until: until)
  }

  /// Returns the remembered reason why the author waits. Returns nil, and forgets it, if it no longer holds.
  private func recall(_ head: AuthorHead, _ turns: inout MergeCache) throws -> WaitingReason? {
    guard var wait = turns.waits[head.author] else { return nil }
    var waits = wait.applied == head.applied && wait.appliedRows == head.appliedRows
    if waits, wait.storedID != head.storedID {
      let next = try transaction.log.id(head.applied + 1, of: head.author, in: zone.id)
      waits = wait.next != nil && wait.next == next
      wait.storedID = head.storedID
    }
    switch wait.until {
    case .merged(let other, let number): waits = try waits && !isMerged(other, number)
    case .time(let time): waits = waits && time.milliseconds > now + Choices.clockBound
    case .key(let epoch): waits = waits && reader.keys[epoch] == nil
    case .stored: break
    }
    turns.waits[head.author] = waits ? wait : nil
    return waits ? wait.reason : nil
  }

  private func limit(_ author: Author, _ head: AuthorHead?) -> UInt64 {
    // All change sets of an author may have been reverted here.
    let isUnknown = head?.stored ?? 0 == 0
    return min(head?.revertsAbove ?? .max, reader.cuts[author] ?? (isUnknown ? reader.unknown(author) : nil) ?? .max)
  }

  // MARK: One author

  private mutating func slice(
    _ head: AuthorHead, _ author: Author, _ turns: inout MergeCache
  ) throws -> MergeBatch? {
    if head.malformed != nil {
      count(.malformed, head)
      return nil
    }
    if let reason = try recall(head, &turns) {
      count(reason, head)
      return nil
    }
    let first = head.applied + 1
    guard let end = try transaction.log.unitEnd(from: first, of: head.author, in: zone.id) else {
      wait(.unfinishedUnit, until: .stored, head, first, nil, &turns)
      return nil
    }
    // Change sets above a cutoff are neither merged nor waited for.
    guard end <= limit(author, head) else { return nil }
    var slice = MergeBatch(head: head, author: author)
    var context = try ahead[head.author]?.context ?? transaction.catalog.heads.context(of: head.author, zone.id)
    var number = first
    while number <= end, !budget.isSpent {
      guard let part = try part(number, head, &context, &turns) else {
        return slice.parts.isEmpty ? nil : try assemble(slice)
      }
      slice.parts.append(part)
      guard part.rows.upperBound == part.rowCount else { return try assemble(slice) }
      number += 1
    }
    slice.isUnitEnd = number > end
    return try assemble(slice)
  }

  /// The rows and bytes that one transaction may still merge.
  private struct Budget {
    var rows = Choices.slice
    var longBytes = StoreLimits.longBytesTogether
    /// The encoded bytes of units that may still be merged with others.
    var bytes = Limits.changeSet
    var isSpent: Bool { rows <= 0 || longBytes <= 0 }

    /// Counts a unit. Returns whether another one may follow it in the same transaction.
    mutating func endUnit(_ slice: MergeBatch) -> Bool {
      rows -= StoreLimits.rowsOfUnit
      for part in slice.parts { bytes -= part.size }
      return !isSpent && bytes > 0
    }

    /// Returns the rows of a change set that the transaction merges, from the row `first` on: at least one, if any is left.
    mutating func take(_ body: ChangeSetBody, from first: Int) -> Range<Int> {
      guard case .changes(let tables) = body.content else { return 0..<0 }
      var (index, end) = (0, first)
      for row in tables.lazy.flatMap(\.rows) {
        defer { index += 1 }
        guard index >= first else { continue }
        if isSpent { break }
        rows -= 1
        longBytes -= row.longBytes
        end = index + 1
      }
      return min(first, end)..<end
    }
  }

  /// Returns the slice with the long values of its rows.
  private func assemble(_ slice: MergeBatch) throws -> MergeBatch {
    var slice = slice
    for part in slice.parts {
      guard case .changes(let tables) = part.body.content else { continue }
      let values = LongValues(
        transaction: transaction, zone: zone.id, author: slice.head.author, reader: reader,
        numbers: slice.head.merged + 1..<part.header.number)
      for (index, row) in tables.lazy.flatMap(\.rows).enumerated() where part.rows.contains(index) {
        for case .long(let ordinal, let size, _) in row.fields.lazy.map(\.value) where slice.long[ordinal] == nil {
          slice.long[ordinal] = try values.bytes(ordinal, size: size)
        }
      }
    }
    return slice
  }

  /// Returns the part, or nil if it has to wait. Then its reason is counted.
  private mutating func part(
    _ number: UInt64, _ head: AuthorHead, _ context: inout CausalContext, _ turns: inout MergeCache
  ) throws -> BatchPart? {
    let changeSet = try ChangeSet(
      transaction.log.counted(number, of: head.author, in: zone.id), with: reader.cryptography)
    guard changeSet.header.time.milliseconds <= now + Choices.clockBound else {
      wait(.futureTime, until: .time(changeSet.header.time), head, number, changeSet.id, &turns)
      return nil
    }
    guard let key = reader.keys[changeSet.header.epoch] else {
      wait(.epochKey, until: .key(changeSet.header.epoch), head, number, changeSet.id, &turns)
      return nil
    }
    let body = try turns.inHand?.id == changeSet.id ? turns.inHand?.body : decode(changeSet, key)
    guard let body else { throw MalformedChangeSet(reason: "its body cannot be decrypted with its epoch's key") }
    turns.inHand = (changeSet.id, body)
    try advance(&context, body, changeSet.header)
    if let (other, seen) = try context.entries.first(where: { try !isMerged($0.key, $0.value.number) }) {
      wait(.causalPast, until: .merged(other, seen.number), head, number, changeSet.id, &turns)
      return nil
    }
    let first = number == head.applied + 1 ? Int(head.appliedRows) : 0
    if first == 0 { try ChangeRules.check(body, changeSet.header) }
    return BatchPart(
      header: changeSet.header, id: changeSet.id, body: body, size: changeSet.bytes.count, context: context,
      rows: budget.take(body, from: first), rowCount: body.rowCount)
  }

  private func decode(_ changeSet: ChangeSet, _ key: EpochKey) throws -> ChangeSetBody? {
    guard let bytes = changeSet.body(key: key, with: reader.cryptography) else { return nil }
    do {
      return try ChangeSetBody(bytes, author: changeSet.header.author)
    } catch {
      throw MalformedChangeSet(reason: "its body cannot be read: \(error)")
    }
  }

  private func advance(_ context: inout CausalContext, _ body: ChangeSetBody, _ header: ChangeSetHeader) throws {
    // Nothing is merged while a unit is written, so the context of its later parts has nothing to add.
    guard header.part.index == 0 || body.context.entries.isEmpty || body.context == context else {
      throw MalformedChangeSet(reason: "a part inside a unit names another causal past")
    }
    do {
      try context.advance(by: body.context)
    } catch {
      throw MalformedChangeSet(reason: "its causal past: \(error)")
    }
  }

  /// Returns whether a change set is merged, or is above a cutoff and therefore not waited for.
  private func isMerged(_ author: Author, _ number: UInt64) throws -> Bool {
    let head = try transaction.catalog.knownAuthor(author).flatMap { try self.head($0) }
    return min(number, limit(author, head)) <= head?.merged ?? 0
  }
}

extension Sequence<MergeBatch> {
  /// Returns the records that the slices change, as far as their tables are known here.
  func refs(_ catalog: Catalog) -> Set<RecordRef> {
    var refs: Set<RecordRef> = []
    for part in lazy.flatMap(\.parts) {
      guard case .changes(let tables) = part.body.content else { continue }
      for table in tables {
        guard let number = catalog.knownTable(table.table) else { continue }
        for row in table.rows { refs.insert(RecordRef(table: number, key: row.key)) }
      }
    }
    return refs
  }
}

extension RowChange {
  /// The size of its values that travel in pieces, in bytes.
  fileprivate var longBytes: Int {
    fields.reduce(0) { sum, field in
      if case .long(_, let size, _) = field.value { sum.saturatingAdding(size) } else { sum }
    }
  }
}

extension ChangeSetBody {
  /// The number of rows in all tables.
  var rowCount: Int {
    if case .changes(let tables) = content { return tables.reduce(0) { $0 + $1.rows.count } }
    return 0
  }
}
