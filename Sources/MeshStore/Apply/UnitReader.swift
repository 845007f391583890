import MeshCore

/// Finds the next stored unit whose causal past is merged, and decodes as much of it as one transaction takes.
struct UnitReader {
  /// What one transaction merges: whole parts, but for the rows that are left of the last.
  struct Slice {
    var head: AuthorHead
    let author: Author
    var parts: [Part] = []
    var isUnitEnd = false

    /// The records that it is about, as far as their tables are known here.
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
    /// What the author had merged.
    let context: CausalContext
    /// Rows to merge, counted over all tables.
    var rows: Range<Int>
    let rowCount: Int
  }

  enum Choice {
    case slice(Slice)
    /// Can never be merged: to be noted at its author's head.
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
    heads = try AuthorHead.all(session.sql, zone: zone.id)
    byAuthor = Dictionary(
      try heads.map { (try session.catalog.author($0.author), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// - Parameters:
  ///   - inHand: The part that was read last, decoded: a big one is merged in several slices.
  ///   - last: Whose change sets were merged last, in `mesh_author`.
  mutating func choose(_ inHand: inout (id: ChangeSetID, body: ChangeSetBody)?, after last: Int64?) throws -> Choice {
    // A unit that is begun ends first; then authors have their turns, so that one which floods the zone keeps no other waiting.
    let begun = heads.filter(\.isInsideUnit)
    let others = heads.filter { !$0.isInsideUnit }
    let next = others.filter { $0.author > last ?? 0 } + others.filter { $0.author <= last ?? 0 }
    for head in begun + next where head.stored > head.applied {
      let author = try session.catalog.author(head.author)
      do {
        if let slice = try slice(head, author, &inHand) { return .slice(slice) }
      } catch let fault as Malformed {
        return .malformed(head, fault.reason)
      }
    }
    return .idle(waiting)
  }

  /// Breaks a rule of the format.
  struct Malformed: Error {
    let reason: String
  }

  private mutating func wait(_ reason: WaitingReason, _ head: AuthorHead) {
    waiting[reason, default: 0] += Int(clamping: head.stored - head.applied)
  }

  private func limit(_ author: Author, _ head: AuthorHead?) -> UInt64 {
    min(head?.cut ?? .max, reader.cuts[author] ?? (head == nil ? reader.unknown(author) : nil) ?? .max)
  }

  // MARK: One author

  private mutating func slice(
    _ head: AuthorHead, _ author: Author, _ inHand: inout (id: ChangeSetID, body: ChangeSetBody)?
  ) throws -> Slice? {
    if head.malformed != nil {
      wait(.malformed, head)
      return nil
    }
    guard let end = try LogRow.unitEnd(session.sql, zone: zone.id, author: head.author, from: head.applied + 1) else {
      wait(.unfinishedUnit, head)
      return nil
    }
    // What is above a cut is neither merged nor waited for.
    guard end <= limit(author, head) else { return nil }
    var slice = Slice(head: head, author: author)
    var context = head.context
    var budget = Choices.slice
    var number = head.applied + 1
    while number <= end, budget > 0 {
      guard let part = try part(number, head, &context, budget, &inHand) else {
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

  /// Nil where it has to wait; then its reason is counted.
  private mutating func part(
    _ number: UInt64, _ head: AuthorHead, _ context: inout CausalContext, _ budget: Int,
    _ inHand: inout (id: ChangeSetID, body: ChangeSetBody)?
  ) throws -> Part? {
    guard let bytes = try LogRow.bytes(session.sql, zone: zone.id, author: head.author, number: number) else {
      throw StoreError(.corrupt, "mesh_log lacks a change set that mesh_head counts; restore the file from a copy")
    }
    let changeSet = try ChangeSet(bytes, with: reader.cryptography)
    guard changeSet.header.time.milliseconds <= now + Choices.clockBound else {
      wait(.futureTime, head)
      return nil
    }
    guard let key = reader.keys[changeSet.header.epoch] else {
      wait(.epochKey, head)
      return nil
    }
    let body = try inHand?.id == changeSet.id ? inHand?.body : decode(changeSet, key)
    guard let body else { throw Malformed(reason: "its body cannot be decrypted with its epoch's key") }
    inHand = (changeSet.id, body)
    try advance(&context, body, changeSet.header)
    guard isCovered(context) else {
      wait(.causalPast, head)
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
    // Nothing is merged while a unit is written, so its later parts have nothing to add.
    guard header.part.index == 0 || body.context.entries.isEmpty || body.context == context else {
      throw Malformed(reason: "a part inside a unit names another causal past")
    }
    do {
      try context.advance(by: body.context)
    } catch {
      throw Malformed(reason: "its causal past: \(error)")
    }
  }

  private func isCovered(_ context: CausalContext) -> Bool {
    context.entries.allSatisfy { other, seen in
      let head = byAuthor[other]
      return min(seen.number, limit(other, head)) <= head?.merged ?? 0
    }
  }
}

extension ChangeSetBody {
  /// Over all tables.
  var rowCount: Int {
    if case .changes(let tables) = content { return tables.reduce(0) { $0 + $1.rows.count } }
    return 0
  }
}
