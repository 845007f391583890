import MeshCore

/// A cache of a zone's merge state between two slices. It only saves work.
struct MergeTurns {
  /// The decoded part of a unit that is being merged slice by slice.
  var inHand: (id: ChangeSetID, body: ChangeSetBody)?
  /// The number of the author whose change sets were merged last.
  var last: Int64?
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

/// Finds the next stored unit whose causal past is merged, and decodes as much of it as one transaction can merge.
struct UnitReader {
  /// The rows that one transaction merges: whole parts, and possibly some rows of the last part.
  struct Slice {
    var head: AuthorHead
    let author: Author
    var parts: [Part] = []
    var isUnitEnd = false

    /// Returns the records that the slice changes, as far as their tables are known here.
    func refs(_ catalog: Catalog) -> Set<RecordRef> {
      var refs: Set<RecordRef> = []
      for part in parts {
        guard case .changes(let tables) = part.body.content else { continue }
        for table in tables {
          guard let number = catalog.knownTable(table.table) else { continue }
          for row in table.rows { refs.insert(RecordRef(table: number, key: row.key)) }
        }
      }
      return refs
    }
  }

  struct Part {
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

  enum Choice {
    case slice(Slice)
    /// The unit can never be merged. The reason is noted at its author's tip.
    case malformed(AuthorHead, String)
    case idle([WaitingReason: Int])
  }

  let session: Session
  let zone: ZoneRow
  let reader: ChangeSetReader
  let now: Int64
  private let heads: [AuthorHead]
  private let byAuthor: [Author: AuthorHead]
  private var waiting: [WaitingReason: Int] = [:]

  init(_ session: Session, zone: ZoneRow, _ reader: ChangeSetReader, now: Int64) throws {
    self.session = session
    self.zone = zone
    self.reader = reader
    self.now = now
    heads = try session.catalog.heads.all(zone.id)
    byAuthor = Dictionary(
      try heads.map { (try session.catalog.author($0.author), $0) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func choose(_ turns: inout MergeTurns) throws -> Choice {
    // A unit that was begun is finished first. Then authors take turns, so that one that floods the zone can't make
    // others wait.
    let begun = heads.filter(\.isInsideUnit)
    let others = heads.filter { !$0.isInsideUnit }
    let last = turns.last ?? 0
    let next = others.filter { $0.author > last } + others.filter { $0.author <= last }
    for head in begun + next where head.stored > head.applied {
      let author = try session.catalog.author(head.author)
      do {
        guard let slice = try slice(head, author, &turns) else { continue }
        turns.last = head.author
        return .slice(slice)
      } catch let fault as Malformed {
        return .malformed(head, fault.reason)
      }
    }
    return .idle(waiting)
  }

  /// The error that a change set breaks a rule of the format.
  struct Malformed: Error {
    let reason: String
  }

  private mutating func count(_ reason: WaitingReason, _ head: AuthorHead) {
    waiting[reason, default: 0] += Int(clamping: head.stored - head.applied)
  }

  /// Counts the reason why a change set waits, and remembers it.
  ///
  /// - Parameters:
  ///   - next: The change set with the number `number`, or nil if its unit has no end yet.
  private mutating func wait(
    _ reason: WaitingReason, until: MergeTurns.Wait.Until, _ head: AuthorHead, _ number: UInt64, _ next: ChangeSetID?,
    _ turns: inout MergeTurns
  ) {
    count(reason, head)
    // Within a slice, the parts before it are merged first.
    guard number == head.applied + 1 else { return }
    turns.waits[head.author] = MergeTurns.Wait(
      applied: head.applied, appliedRows: head.appliedRows, storedID: head.storedID, next: next, reason: reason,
      until: until)
  }

  /// Returns the remembered reason why the author waits. Returns nil, and forgets it, if it no longer holds.
  private func recall(_ head: AuthorHead, _ turns: inout MergeTurns) throws -> WaitingReason? {
    guard var wait = turns.waits[head.author] else { return nil }
    var waits = wait.applied == head.applied && wait.appliedRows == head.appliedRows
    if waits, wait.storedID != head.storedID {
      let next = try LogRow.id(session.sql, zone: zone.id, author: head.author, number: head.applied + 1)
      waits = wait.next != nil && wait.next == next
      wait.storedID = head.storedID
    }
    switch wait.until {
    case .merged(let other, let number): waits = waits && !isMerged(other, number)
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
    return min(head?.cut ?? .max, reader.cuts[author] ?? (isUnknown ? reader.unknown(author) : nil) ?? .max)
  }

  // MARK: One author

  private mutating func slice(
    _ head: AuthorHead, _ author: Author, _ turns: inout MergeTurns
  ) throws -> Slice? {
    if head.malformed != nil {
      count(.malformed, head)
      return nil
    }
    if let reason = try recall(head, &turns) {
      count(reason, head)
      return nil
    }
    let first = head.applied + 1
    guard let end = try LogRow.unitEnd(session.sql, zone: zone.id, author: head.author, from: first) else {
      wait(.unfinishedUnit, until: .stored, head, first, nil, &turns)
      return nil
    }
    // Change sets above a cutoff are neither merged nor waited for.
    guard end <= limit(author, head) else { return nil }
    var slice = Slice(head: head, author: author)
    var context = try session.catalog.heads.context(of: head.author, zone.id)
    var budget = Choices.slice
    var number = first
    while number <= end, budget > 0 {
      guard let part = try part(number, head, &context, budget, &turns) else {
        return slice.parts.isEmpty ? nil : slice
      }
      slice.parts.append(part)
      budget -= part.rows.count
      guard part.rows.upperBound == part.rowCount else { return slice }
      number += 1
    }
    slice.isUnitEnd = number > end
    return slice
  }

  /// Returns the part, or nil if it has to wait. Then its reason is counted.
  private mutating func part(
    _ number: UInt64, _ head: AuthorHead, _ context: inout CausalContext, _ budget: Int,
    _ turns: inout MergeTurns
  ) throws -> Part? {
    guard let bytes = try LogRow.bytes(session.sql, zone: zone.id, author: head.author, number: number) else {
      throw StoreError(.corrupt, "mesh_log lacks a change set that mesh_head counts; restore the file from a copy")
    }
    let changeSet = try ChangeSet(bytes, with: reader.cryptography)
    guard changeSet.header.time.milliseconds <= now + Choices.clockBound else {
      wait(.futureTime, until: .time(changeSet.header.time), head, number, changeSet.id, &turns)
      return nil
    }
    guard let key = reader.keys[changeSet.header.epoch] else {
      wait(.epochKey, until: .key(changeSet.header.epoch), head, number, changeSet.id, &turns)
      return nil
    }
    let body = try turns.inHand?.id == changeSet.id ? turns.inHand?.body : decode(changeSet, key)
    guard let body else { throw Malformed(reason: "its body cannot be decrypted with its epoch's key") }
    turns.inHand = (changeSet.id, body)
    try advance(&context, body, changeSet.header)
    if let (other, seen) = context.entries.first(where: { !isMerged($0.key, $0.value.number) }) {
      wait(.causalPast, until: .merged(other, seen.number), head, number, changeSet.id, &turns)
      return nil
    }
    let first = number == head.applied + 1 ? Int(head.appliedRows) : 0
    if first == 0 { try ChangeRules.check(body, changeSet.header) }
    let count = body.rowCount
    return Part(
      header: changeSet.header, id: changeSet.id, body: body, size: bytes.count, context: context,
      rows: min(first, count)..<min(count, first + budget), rowCount: count)
  }

  private func decode(_ changeSet: ChangeSet, _ key: EpochKey) throws -> ChangeSetBody? {
    guard let bytes = changeSet.body(key: key, with: reader.cryptography) else { return nil }
    do {
      return try ChangeSetBody(bytes, author: changeSet.header.author)
    } catch {
      throw Malformed(reason: "its body cannot be read: \(error)")
    }
  }

  private func advance(_ context: inout CausalContext, _ body: ChangeSetBody, _ header: ChangeSetHeader) throws {
    // Nothing is merged while a unit is written, so the context of its later parts has nothing to add.
    guard header.part.index == 0 || body.context.entries.isEmpty || body.context == context else {
      throw Malformed(reason: "a part inside a unit names another causal past")
    }
    do {
      try context.advance(by: body.context)
    } catch {
      throw Malformed(reason: "its causal past: \(error)")
    }
  }

  /// Returns whether a change set is merged, or is above a cutoff and therefore not waited for.
  private func isMerged(_ author: Author, _ number: UInt64) -> Bool {
    let head = byAuthor[author]
    return min(number, limit(author, head)) <= head?.merged ?? 0
  }
}

extension ChangeSetBody {
  /// The number of rows in all tables.
  var rowCount: Int {
    if case .changes(let tables) = content { return tables.reduce(0) { $0 + $1.rows.count } }
    return 0
  }
}
