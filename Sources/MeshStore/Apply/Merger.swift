import GRDB
import MeshCore

/// Merges the rows of change sets into records and tables, inside one write transaction.
final class Merger {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  let materialiser: Materialiser
  /// The author's head before this unit.
  let previous: AuthorHead
  /// Nil if this device writes its own values again.
  let accounts: Accounts?
  let now: Int64
  private var seen: CausalContext?
  private var session: Session { records.session }

  init(
    _ records: ZoneRecords, _ materialiser: Materialiser, previous: AuthorHead, _ accounts: Accounts?, now: Int64
  ) {
    self.accounts = accounts
    self.records = records
    self.materialiser = materialiser
    self.previous = previous
    self.now = now
  }

  /// What the author had merged before.
  private func seenBefore() throws -> CausalContext {
    if let seen { return seen }
    let read = try session.catalog.heads.context(of: previous.author, records.zone.id)
    seen = read
    return read
  }

  /// Merges the part's rows in `part.rows`.
  func merge(_ part: UnitReader.Part, long: LongValues) throws {
    guard case .changes(let tables) = part.body.content else { return }
    var first = 0
    for table in tables {
      let chosen = part.rows.clamped(to: first..<first + table.rows.count)
      if !chosen.isEmpty {
        let run = try Run(self, table, part, long)
        for index in chosen { try run.merge(table.rows[index - first]) }
      }
      first += table.rows.count
    }
  }

  /// Rows of one table in one part: names are resolved once.
  private final class Run {
    let merger: Merger
    let part: UnitReader.Part
    let long: LongValues
    let tableID: Int64
    let columns: [Int64]
    let birth: BirthWriter?
    /// The author's account; that of a device of which no account is known is the device.
    let owner: [UInt8]?

    init(_ merger: Merger, _ table: TableChanges, _ part: UnitReader.Part, _ long: LongValues) throws {
      self.merger = merger
      self.part = part
      owner = merger.accounts.map { WaitingQuota.owner(part.header.author.device, $0) }
      self.long = long
      let catalog = merger.session.catalog
      let id = try catalog.tableNumber(table.table)
      tableID = id
      let columns = try table.columns.map { try catalog.columnNumber($0, of: id) }
      self.columns = columns
      try merger.records.note(namesOf: catalog.authorNumber(part.header.author), table: id, columns: columns)
      let table = catalog.table(id).flatMap { merger.materialiser.showsAll($0) ? $0 : nil }
      birth = try table.map { try BirthWriter(merger.materialiser, $0, columns) }
    }

    func merge(_ change: RowChange) throws {
      let ref = RecordRef(table: tableID, key: change.key)
      if change.isLife, change.generation.isAlive { try noteLostDelete(ref, change) }
      if change.isLife, merger.materialiser.refused.isEmpty, let birth, try !merger.materialiser.isOthers(ref),
        try birth.write(ref, change)
      {
        if !birth.table.references.isEmpty { merger.materialiser.check(ref) }
        return try merger.materialiser.appear(ref)
      }
      let old = try merger.records.load(ref)
      let news = try State(change, columns: columns, long)
      var state = try old.map { try merger.records.state(ref, $0) } ?? State()
      let before = state
      if let old { try merger.materialiser.requireNoticed(ref, old, before) }
      let losses = state.merge(news)
      // Before the row changes, which has the bytes of what is lost.
      let comesAgain = try comesAgain(ref, change, before)
      for loss in losses where try isConflict(loss, state, comesAgain: comesAgain) {
        try merger.records.noteConflict(ref, loss, by: owner, now: merger.now)
      }
      if state != before {
        let changed = Set(state.cells.filter { before.cells[$0.key] != $0.value }.keys)
        try merger.materialiser.place(
          ref, state, replacing: old, changed: before.generation == state.generation ? changed : nil)
        if state.isAlive {
          try noteUnseenNames(ref, before, state, changed)
          try merger.session.noteRenamed(ref, changed)
        }
        try goOnUnderNewName(ref, before, state)
      }
    }

    /// A value under a column's former name is later than the one that it has under its new name here. If that one was written under
    /// the new name, its row never showed it where the former name is in use, whatever the author's device had merged.
    private func noteUnseenNames(_ ref: RecordRef, _ before: State, _ state: State, _ changed: Set<Int64>) throws {
      guard let successors = merger.session.catalog.table(ref.table)?.successors, !successors.isEmpty else { return }
      for column in changed.sorted() {
        guard let successor = successors[column], let new = state.cells[column], let known = before.cells[successor],
          new.stamp.author == part.header.author, known.stamp.author != new.stamp.author, known.stamp < new.stamp,
          before.cells[column].map({ $0.stamp < known.stamp }) ?? true, known.value != new.value,
          // What it had not merged is listed when the value goes on under the new name.
          part.context.hasSeen(known.stamp)
        else { continue }
        try merger.records.noteConflict(
          ref, State.Loss(column: successor, loser: known, winner: new.stamp, wasLocal: true), by: owner,
          now: merger.now)
      }
    }

    /// Something was written under a table's former name. Its author has never shown what was written under the new one, so of two such
    /// values the one that loses is listed.
    private func goOnUnderNewName(_ ref: RecordRef, _ before: State, _ state: State) throws {
      let (session, records) = (merger.session, merger.records)
      guard let heir = session.catalog.heir(of: ref.table), session.catalog.table(ref.table) == nil,
        try session.sql.exists(
          "SELECT 1 FROM mesh_zone WHERE id = ? AND root_table IS NULL", [.integer(records.zone.id)])
      else { return }
      let target = RecordRef(table: heir.id, key: ref.key)
      let known = try records.load(target).map { try records.state(target, $0) } ?? State()
      for column in Set(before.cells.keys).union(state.cells.keys).sorted() {
        let same = try session.catalog.columnNumber(session.catalog.column(column).name, of: heir.id)
        let number = heir.successors[same] ?? same
        let (own, new) = (known.cells[number], state.cells[column])
        // Written under the new name, and under the former one.
        let isOwn = own.map { own in before.cells[column].map { $0.stamp < own.stamp } ?? true } ?? false
        let isNew = new.map { $0 != before.cells[column] } ?? false
        let isLater = own.map { own in new.map { own.stamp < $0.stamp } ?? false } ?? true
        let wins = known.generation == state.generation ? isLater : known.generation < state.generation
        guard let loser = wins ? (isOwn ? own : nil) : (isNew ? new : nil), loser.value != .null,
          loser.value != (wins ? new : own)?.value
        else { continue }
        let winner = wins ? new?.stamp ?? state.life : own?.stamp ?? known.life
        try records.noteConflict(
          target, State.Loss(column: number, loser: loser, winner: winner, wasLocal: true), now: merger.now)
      }
      try session.sql.run(
        "INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone) VALUES (?, 0, ?, ?, ?, ?, 0, ?)",
        [
          .integer(heir.id), ref.key, .integer(PendingSlice.Op.adopt), .integer(ref.table),
          .integer(PendingSlice.adoptedBefore), .integer(records.zone.id),
        ])
    }

    /// A record that another device moved here was deleted where it came from, by somebody who did not know of the move: the move
    /// wins, and the delete can be carried out by its conflict. A record keeps its birth's stamp when it moves, so one that is older
    /// than the delete was not made anew. A birth that comes again, under a new name of its columns, moves nothing.
    private func noteLostDelete(_ ref: RecordRef, _ change: RowChange) throws {
      guard merger.materialiser.others != nil, try merger.records.load(ref)?.generation != change.generation else {
        return
      }
      let zones = try merger.session.sql.all(
        "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ? AND NOT generation & 1",
        [.integer(ref.table), ref.key, .integer(merger.records.zone.id)]
      ) { $0.integer(0) }
      for id in zones {
        guard let zone = try ZoneRow.read(id: id, merger.session.sql) else { continue }
        let left = ZoneRecords(merger.session, zone: zone)
        guard let life = try left.load(ref).flatMap({ try left.state(ref, $0).life }),
          life.author.device != part.header.author.device, change.stamp < life
        else { continue }
        let delete = State.Cell(stamp: life, value: .null)
        try merger.records.noteConflict(
          ref, State.Loss(column: ZoneRecords.wholeRecord, loser: delete, winner: change.stamp, wasLocal: true),
          by: owner, now: merger.now)
      }
    }

    /// The birth may be one that goes on under a new name of its columns or table, with the stamps that it had. A record that comes from
    /// another zone again brings all its columns as well, but no record of a share goes on under a table's new name.
    private func comesAgain(_ ref: RecordRef, _ change: RowChange, _ before: State) throws -> Bool {
      guard change.isLife, change.generation.isAlive, change.generation <= before.generation else { return false }
      if change.generation == before.generation {
        guard before.life == change.stamp else { return false }
        if change.fields.count < before.cells.count { return true }
      }
      if merger.materialiser.others == nil { return true }
      guard try merger.session.catalog.zones().privateZone == merger.records.zone.id else { return false }
      return try !merger.session.sql.exists(
        "SELECT 1 FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ?",
        [.integer(ref.table), ref.key, .integer(merger.records.zone.id)])
    }

    /// The change set brings a stamp of an earlier one, or of another author.
    private func isEarlier(_ stamp: Stamp) -> Bool {
      stamp.author != part.header.author || stamp.time.noted <= merger.previous.mergedTime
    }

    /// A value is lost that whoever overwrote it had not seen. What was here had been seen if the change set's author
    /// had merged it; what arrives and loses had not been seen, or it would not have been sent. An import that arrives and loses is
    /// listed by its author alone: no other device ever showed it.
    private func isConflict(_ loss: State.Loss, _ state: State, comesAgain: Bool) throws -> Bool {
      if state.isAlive, state.cells[loss.column]?.value == loss.loser.value { return false }
      let stamp = loss.loser.stamp
      // Written in an earlier change set, under another name: what the change set's author knows now tells nothing of then.
      if comesAgain, let winner = loss.winner, isEarlier(loss.wasLocal ? winner : stamp) {
        return try !(stamp.time.isImport && !loss.wasLocal) && !hadSeen(stamp, winner.author)
      }
      guard loss.wasLocal else { return !stamp.time.isImport }
      guard stamp.author != part.header.author, !part.context.hasSeen(stamp) else { return false }
      // A value that came with its record from another zone has the stamp of somebody who may never have written here.
      return try part.context[stamp.author] != nil || merger.records.hasWritten(stamp.author)
    }

    /// Whether the author had, before this unit, merged what the stamp is of.
    private func hadSeen(_ stamp: Stamp, _ author: Author) throws -> Bool {
      if author == part.header.author {
        return try stamp.author == author || merger.seenBefore().hasSeen(stamp)
      }
      return try merger.records.hasSeen(stamp, author)
    }
  }
}

extension ZoneRecords {
  /// Whether an author has merged what the stamp is of, as far as its change sets tell that are merged here.
  func hasSeen(_ stamp: Stamp, _ author: Author) throws -> Bool {
    guard stamp.author != author, let number = try session.catalog.knownAuthor(author) else { return true }
    return try session.catalog.heads.context(of: number, zone.id).hasSeen(stamp)
  }

  /// `mesh_conflict.col` of a delete.
  static let wholeRecord: Int64 = 0

  /// Lists a value that lost, and keeps the bytes of a BLOB. To be called before the row changes.
  ///
  /// - Parameter owner: The account whose change set made it a conflict; nil if none did.
  func noteConflict(_ ref: RecordRef, _ loss: State.Loss, by owner: [UInt8]? = nil, now: Int64) throws {
    let loser = try local(loss.loser.stamp)
    let winner = try loss.winner.map(local)
    let sql = session.sql
    try sql.run(
      """
      INSERT INTO mesh_conflict (zone, tbl, key, col, value, loser_author, loser_time, winner_author, winner_time,
        was_local, noted, cause) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(zone.id), .integer(ref.table), ref.key, .integer(loss.column),
        .blob(ExtraValues.encode(loss.loser.value)), .integer(loser.author), .bits(loser.time.value),
        .optional(winner?.author), winner.map { .bits($0.time.value) } ?? .null, .integer(loss.wasLocal ? 1 : 0),
        .integer(now), owner.map { .blob($0) } ?? .null,
      ])
    if sql.lastInsertedID % StoreLimits.conflictsBetweenLooks == 0 { try dropOldConflicts() }
    if let asset = loss.loser.value.asset { try session.keepOverwritten(asset, ref, loss.column, isConflict: true) }
  }
}

extension ZoneRecords {
  /// Of a zone with too many conflicts, those go first that have the most later ones of the same account: nobody displaces those of
  /// others.
  private func dropOldConflicts() throws {
    try session.sql.run(
      """
      DELETE FROM mesh_conflict WHERE id IN (
        SELECT id FROM (
          SELECT id, row_number() OVER (PARTITION BY zone ORDER BY later, id DESC) AS place FROM (
            SELECT id, zone, row_number() OVER (PARTITION BY zone, cause ORDER BY id DESC) AS later
            FROM mesh_conflict))
        WHERE place > ?)
      """, [.integer(StoreLimits.conflicts)])
  }
}

extension RecordState<Int64> {
  /// What a row of a change set says, with columns as numbers.
  init(_ change: RowChange, columns: [Int64], _ long: LongValues) throws {
    var cells: [Int64: Cell] = [:]
    for field in change.fields {
      let value = try long.value(of: field.value)
      cells[columns[field.column]] = Cell(stamp: field.stamp ?? change.stamp, value: value)
    }
    self.init(generation: change.generation, life: change.isLife ? change.stamp : nil, cells: cells)
  }
}
