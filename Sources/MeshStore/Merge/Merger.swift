import GRDB
import MeshCore

/// The delete of a record that has followed its parent to another zone at the same time. Another of this account's
/// devices deleted it in the zone where it had been. Nobody meant to move it, so the delete is carried out where the
/// record is.
struct FollowerDelete {
  let ref: RecordRef
  /// The `mesh_zone.id` of the record's new zone.
  let zone: Int64
  let delete: Stamp
  let birth: Stamp

  /// The error that an app's trigger has rolled back the transaction that was to carry out the delete.
  struct Refused: Error {
    let ref: RecordRef
  }

  /// Returns whether the record, or one that refers to it, was written in the new zone by another device than the one
  /// that deleted it. That device had not seen the write, and the delete would take it along.
  ///
  /// - Parameter records: The records of the new zone.
  func meetsWrites(_ records: ZoneRecords) throws -> Bool {
    let transaction = records.transaction
    var (next, seen): ([RecordRef], Set<RecordRef>) = ([ref], [ref])
    while let ref = next.popLast() {
      if let record = try records.load(ref), record.isAlive {
        let state = try records.state(ref, record)
        let authors = Set(([state.life] + state.cells.values.map(\.stamp)).compactMap { $0?.author })
        if try authors.contains(where: { try $0.device != delete.author.device && records.hasWritten($0) }) {
          return true
        }
      }
      for reference in transaction.catalog.table(ref.table)?.referrers ?? [] where !reference.isReset {
        guard let child = transaction.catalog.table(reference.child) else { continue }
        let children = try transaction.sql.all(child.keysReferring(reference.column), [ref.key]) {
          RecordRef(table: child.id, key: child.form.canonical($0.value(0)))
        }
        next += children.filter { seen.insert($0).inserted }
      }
    }
    return false
  }
}

/// Merges the rows of change sets into records and tables, inside one write transaction.
final class Merger {
  typealias State = ZoneRecords.State

  let records: ZoneRecords
  let materialiser: Materialiser
  /// The author's tip before this unit.
  let previous: AuthorHead
  /// The accounts, or nil if this device writes its own values again.
  let accounts: Accounts?
  let now: Int64
  /// The deletes to carry out after the transaction's rows are merged.
  private(set) var followerDeletes: [FollowerDelete] = []
  private var seen: CausalContext?
  /// The records of which parts were lost. Computed on first use.
  private lazy var lostParts = Result { try transaction.recordsWithLostParts() }
  private var transaction: Transaction { records.transaction }

  init(
    _ records: ZoneRecords, _ materialiser: Materialiser, previous: AuthorHead, _ accounts: Accounts?, now: Int64
  ) {
    self.accounts = accounts
    self.records = records
    self.materialiser = materialiser
    self.previous = previous
    self.now = now
  }

  /// Returns the state that the author had merged before.
  private func seenBefore() throws -> CausalContext {
    if let seen { return seen }
    let read = try transaction.catalog.heads.context(of: previous.author, records.zone.id)
    seen = read
    return read
  }

  /// Merges the part's rows in `part.rows`.
  func merge(_ part: BatchPart, long: LongValues) throws {
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

  /// Continues the lost parts of a record that has arrived from another zone.
  private func continueLateParts(_ ref: RecordRef, after change: RowChange) throws {
    guard change.isLife, change.generation.isAlive, materialiser.others != nil, try lostParts.get().contains(ref) else {
      return
    }
    try transaction.continueLateParts(ref)
  }

  /// The rows of one table in one part. Names are looked up once.
  private final class Run {
    let merger: Merger
    let part: BatchPart
    let long: LongValues
    let tableID: Int64
    let columns: [Int64]
    let birth: BirthWriter?
    /// The author's account. If no account of a device is known, it is the device itself.
    let owner: [UInt8]?

    init(_ merger: Merger, _ table: TableChanges, _ part: BatchPart, _ long: LongValues) throws {
      self.merger = merger
      self.part = part
      owner = merger.accounts.map { WaitingQuota.owner(part.header.author.device, $0) }
      self.long = long
      let catalog = merger.transaction.catalog
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
        try merger.materialiser.appear(ref)
        return try merger.continueLateParts(ref, after: change)
      }
      let old = try merger.records.load(ref)
      let news = try State(change, columns: columns, long)
      var state = try old.map { try merger.records.state(ref, $0) } ?? State()
      let before = state
      if let old { try merger.materialiser.notes.requireNoticed(ref, old, before) }
      let losses = state.merge(news)
      if change.isLife, !change.generation.isAlive { try noteDeleteOfMoved(ref, change, before) }
      // This happens before the row changes, because the row has the bytes of the lost value.
      let comesAgain = try comesAgain(ref, change, before)
      var losesParts = false
      let sums = try noteUnseenSums(ref, before, state)
      for loss in losses where try isConflict(ref, loss, state, comesAgain: comesAgain) {
        if loss.wasLocal && sums.contains(loss.column) { continue }
        try merger.records.noteConflict(
          ref, loss, by: owner, isByWrite: before.generation == news.generation, now: merger.now)
        losesParts = try losesParts || merger.transaction.catalog.part(loss.column) != nil
      }
      if state != before {
        let changed = Set(state.cells.filter { before.cells[$0.key] != $0.value }.keys)
        try merger.materialiser.place(
          ref, state, replacing: old, changed: before.generation == state.generation ? changed : nil)
        if state.isAlive {
          try noteUnseenNames(ref, before, state, changed)
          try merger.transaction.noteRenamed(ref, changed)
        }
        try goOnUnderNewName(ref, before, state)
      }
      if losesParts {
        try merger.transaction.continueLateParts(ref)
      } else {
        try merger.continueLateParts(ref, after: change)
      }
    }

    /// Notes a conflict for the sum of a counter that is replaced by a value that is no number, if the author of that
    /// value had not seen all increments. They stay, but no row shows them. Returns the columns.
    private func noteUnseenSums(_ ref: RecordRef, _ before: State, _ state: State) throws -> Set<Int64> {
      let catalog = merger.transaction.catalog
      guard state.generation == before.generation, state.isAlive, let table = catalog.table(ref.table) else {
        return []
      }
      let replaced = state.cells.filter { column, cell in
        switch (before.cells[column]?.value ?? .integer(0), cell.value) {
        case (_, .integer): false
        case (.integer, _): true
        default: false
        }
      }
      let hasParts = try !replaced.isEmpty && before.cells.keys.contains { try catalog.part($0)?.policy == .counter }
      guard hasParts else { return [] }
      var noted: Set<Int64> = []
      for (column, sum) in try merger.transaction.folded(table, before).sorted(by: { $0.key < $1.key }) {
        guard let winner = replaced[column], case .integer = sum else { continue }
        let unseen = try before.cells.filter { id, cell in
          guard let (named, whole) = try catalog.part(id, in: table), whole == column else { return false }
          return named.policy == .counter && cell.stamp.author != winner.stamp.author
            && !part.context.hasSeen(cell.stamp)
        }
        guard let stamp = unseen.values.map(\.stamp).max() else { continue }
        try merger.records.noteConflict(
          ref, State.Loss(column: column, loser: .init(stamp: stamp, value: sum), winner: winner.stamp, wasLocal: true),
          by: owner, isByWrite: true, now: merger.now)
        noted.insert(column)
      }
      return noted
    }

    /// Notes conflicts for values under a column's former name that are later than the column's value here. If the
    /// value here was written under the new name, rows under the former name never showed it, whatever the author's
    /// device had merged.
    private func noteUnseenNames(_ ref: RecordRef, _ before: State, _ state: State, _ changed: Set<Int64>) throws {
      guard let successors = merger.transaction.catalog.table(ref.table)?.successors, !successors.isEmpty else {
        return
      }
      for column in changed.sorted() {
        guard let successor = successors[column], let new = state.cells[column], let known = before.cells[successor],
          new.stamp.author == part.header.author, known.stamp.author != new.stamp.author, known.stamp < new.stamp,
          before.cells[column].map({ $0.stamp < known.stamp }) ?? true, known.value != new.value,
          // Values that it had not merged are listed when the value continues under the new name.
          part.context.hasSeen(known.stamp)
        else { continue }
        try merger.records.noteConflict(
          ref, State.Loss(column: successor, loser: known, winner: new.stamp, wasLocal: true), by: owner,
          now: merger.now)
      }
    }

    /// Handles a write under a table's former name. Its author has never shown values written under the new name. So if
    /// there are two such values, the one that loses is listed.
    private func goOnUnderNewName(_ ref: RecordRef, _ before: State, _ state: State) throws {
      let (transaction, records) = (merger.transaction, merger.records)
      guard let heir = transaction.catalog.heir(of: ref.table), transaction.catalog.table(ref.table) == nil,
        try transaction.sql.exists(
          "SELECT 1 WHERE ? IN (\(ZoneTable.writable))", [.integer(records.zone.id)])
      else { return }
      let target = RecordRef(table: heir.id, key: ref.key)
      let known = try records.load(target).map { try records.state(target, $0) } ?? State()
      for column in Set(before.cells.keys).union(state.cells.keys).sorted() {
        let same = try transaction.catalog.columnNumber(transaction.catalog.column(column).name, of: heir.id)
        let number = try transaction.catalog.successor(of: same, in: heir) ?? same
        let (own, new) = (known.cells[number], state.cells[column])
        // One value was written under the new name, and one under the former name.
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
      try transaction.pending.note(
        RecordRef(table: heir.id, key: ref.key), PendingSlice.Op.adopt, word: ref.table,
        mask: PendingSlice.adoptedBefore, zone: records.zone.id)
    }

    /// Notes a lost delete. Another device moved the record here, and a device that did not know of the move deleted
    /// the record in its old zone. The move wins, and a person can carry out the delete from its conflict. A record
    /// keeps its birth's stamp when it moves, so a record with an older birth than the delete was not created again. A
    /// birth that is repeated under a new name of its columns moves nothing. Nor does another account move a record from
    /// the private zone: this account had its own record under the key, such as the copy of a share that it had left.
    private func noteLostDelete(_ ref: RecordRef, _ change: RowChange) throws {
      guard merger.materialiser.others != nil, try merger.records.load(ref)?.generation != change.generation else {
        return
      }
      let zones = try merger.transaction.recordRows.zones(of: ref, .deleted, besides: merger.records.zone.id)
      for id in zones {
        guard let zone = try merger.transaction.counters.read(id: id) else { continue }
        let left = ZoneRecords(merger.transaction, zone: zone)
        guard let life = try left.load(ref).flatMap({ try left.state(ref, $0).life }),
          life.author.device != part.header.author.device, change.stamp < life,
          // A move deletes the record with the time right after its birth's.
          life.time != change.stamp.time.next,
          try id != merger.transaction.catalog.zones().privateZone || isOfThisAccount(part.header.author.device)
        else { continue }
        let author = part.header.author
        let follows =
          change.stamp.author != author && change.fields.allSatisfy { ($0.stamp ?? change.stamp).author != author }
        if follows, try deletesFollower(ref, left: id, to: merger.records, delete: life) {
          merger.followerDeletes.append(
            FollowerDelete(ref: ref, zone: merger.records.zone.id, delete: life, birth: change.stamp))
          continue
        }
        let delete = State.Cell(stamp: life, value: .null)
        try merger.records.noteConflict(
          ref, State.Loss(column: ZoneRecords.wholeRecord, loser: delete, winner: change.stamp, wasLocal: true),
          by: owner, now: merger.now)
      }
    }

    /// Returns whether a delete is carried out in the zone to which another device has moved the record. It is if the
    /// record only followed its parent, and a device of this account deleted it. The root of a share never follows.
    private func deletesFollower(
      _ ref: RecordRef, left zone: Int64, to place: ZoneRecords, delete: Stamp
    ) throws -> Bool {
      let zones = try merger.transaction.catalog.zones()
      guard try isOwn(zone), try merger.transaction.isOfThisAccount(delete.author.device),
        zones.mayWrite(place.zone.id),
        let table = merger.transaction.catalog.table(ref.table)
      else { return false }
      return zones.share(rootedAt: RecordName(table: table.schema.name, key: ref.key), shownBy: place.zone.id) == nil
    }

    private func isOfThisAccount(_ device: DeviceID) throws -> Bool {
      guard let accounts = merger.accounts, let own = merger.transaction.device.flatMap(accounts.account(certifying:)),
        let account = accounts.account(certifying: device)
      else { return try merger.transaction.isOfThisAccount(device) }
      return account == own
    }

    /// Returns whether the zone is this account's private zone, or a share that it owns.
    private func isOwn(_ zone: Int64) throws -> Bool {
      let zones = try merger.transaction.catalog.zones()
      return zone == zones.privateZone || zones.entries[zone].map { $0.role == .owned && $0.isOpen } ?? false
    }

    /// Notes a lost delete of a record that has moved from here to another zone. The device that deleted it didn't know
    /// of the move. Only the first delete is listed, so that no account fills the list of another account's zone.
    ///
    /// - Parameter before: The record's state here. It is alive if the birth in the other zone came first. Otherwise
    ///   the move deleted it, with the stamp right after its birth's.
    private func noteDeleteOfMoved(_ ref: RecordRef, _ change: RowChange, _ before: State) throws {
      guard merger.materialiser.others != nil, let life = before.life else { return }
      let zones = try merger.transaction.recordRows.zones(of: ref, .alive, besides: merger.records.zone.id)
      for id in zones {
        guard let zone = try merger.transaction.counters.read(id: id) else { continue }
        let elsewhere = ZoneRecords(merger.transaction, zone: zone)
        guard let birth = try elsewhere.load(ref).flatMap({ try elsewhere.state(ref, $0).life }),
          before.isAlive
            ? life == birth && change.generation == before.generation.nextGeneration
            : life.time == birth.time.next && change.generation == before.generation,
          change.stamp.time != birth.time.next
        else { continue }
        if let state = try elsewhere.load(ref).map({ try elsewhere.state(ref, $0) }),
          try !elsewhere.hasWritten(birth.author),
          try state.cells.values.allSatisfy({ try !elsewhere.hasWritten($0.stamp.author) }),
          try deletesFollower(ref, left: merger.records.zone.id, to: elsewhere, delete: change.stamp)
        {
          merger.followerDeletes.append(
            FollowerDelete(ref: ref, zone: elsewhere.zone.id, delete: change.stamp, birth: birth))
          continue
        }
        let delete = State.Cell(stamp: change.stamp, value: .null)
        try elsewhere.noteConflict(
          ref, State.Loss(column: ZoneRecords.wholeRecord, loser: delete, winner: birth, wasLocal: false), by: owner,
          now: merger.now)
      }
    }

    /// Returns whether the birth may be one that continues under a new name of its columns or table, with the same
    /// stamps. A record that arrives again from another zone also contains all its columns. In a share, only
    /// `isUnderFormerName` distinguishes it from one that continues under a table's new name.
    private func comesAgain(_ ref: RecordRef, _ change: RowChange, _ before: State) throws -> Bool {
      guard change.isLife, change.generation.isAlive, change.generation <= before.generation else { return false }
      if change.generation == before.generation {
        guard before.life == change.stamp else { return false }
        if change.fields.count < before.cells.count { return true }
      }
      if merger.materialiser.others == nil { return true }
      guard try merger.transaction.catalog.zones().privateZone == merger.records.zone.id else { return false }
      return try !merger.transaction.recordRows.exists(ref, besides: merger.records.zone.id)
    }

    /// Returns whether the change set repeats a stamp of an earlier one, or of another author.
    private func isEarlier(_ stamp: Stamp) -> Bool {
      stamp.author != part.header.author || stamp.time.noted <= merger.previous.mergedTime
    }

    /// Returns whether a lost value is a conflict, because the author of the winning write had not seen it.
    ///
    /// A value that was here had been seen if the change set's author had merged it. A value that arrives and loses had
    /// not been seen, or it would not have been sent. An imported value that arrives and loses is listed only by its
    /// author, because no other device ever showed it.
    private func isConflict(
      _ ref: RecordRef, _ loss: State.Loss, _ state: State, comesAgain: Bool
    ) throws -> Bool {
      if state.isAlive, state.cells[loss.column]?.value == loss.loser.value { return false }
      let stamp = loss.loser.stamp
      // The author's later part contains this one. Records that move bring parts with them, and a device whose file was
      // copied leaves increments to the author of the original.
      if state.isAlive, let winner = loss.winner, state.cells[loss.column]?.stamp == winner,
        let part = try merger.transaction.catalog.part(loss.column),
        winner.author == stamp.author || part.policy == .counter && winner.author == part.author
      {
        return false
      }
      // The value was written in an earlier change set, under another name. The present context of the change set's
      // author doesn't tell what it knew then.
      if comesAgain, let winner = loss.winner, isEarlier(loss.wasLocal ? winner : stamp) {
        guard !stamp.time.isImport || loss.wasLocal else { return false }
        // A value that arrives and loses is listed in any case: another move may have brought it.
        return try !hadSeen(stamp, winner.author) && (!loss.wasLocal || hasWritten(stamp.author))
      }
      guard loss.wasLocal else {
        return try !stamp.time.isImport && !isUnderFormerName(ref, loss) && !isOfWinner(stamp, loss.winner)
      }
      guard stamp.author != part.header.author, !part.context.hasSeen(stamp) else { return false }
      return try hasWritten(stamp.author)
    }

    /// Returns whether a value that a record brought from another zone is an older one of the device that wrote the
    /// winning value here.
    private func isOfWinner(_ stamp: Stamp, _ winner: Stamp?) throws -> Bool {
      try winner?.author.device == stamp.author.device && !hasWritten(stamp.author)
    }

    /// Returns whether a share has the lost value under a former or later name of the table. Then it was compared with
    /// the values that beat it when it came under that name.
    ///
    /// Of two names of one table, only one is synchronized here. Another table may have an equal value of the same time.
    private func isUnderFormerName(_ ref: RecordRef, _ loss: State.Loss) throws -> Bool {
      guard merger.materialiser.others != nil else { return false }
      let (transaction, records) = (merger.transaction, merger.records)
      let isHere = transaction.catalog.table(ref.table) != nil
      let tables = try transaction.recordRows.tables(with: ref, in: records.zone.id)
      let name = try transaction.catalog.column(loss.column).name
      return try tables.contains { table in
        let other = RecordRef(table: table, key: ref.key)
        guard (transaction.catalog.table(table) != nil) != isHere,
          let column = try transaction.catalog.knownColumn(name, of: table), let record = try records.load(other)
        else { return false }
        return try records.state(other, record).cells[column] == loss.loser
      }
    }

    /// Returns whether an author has written in this zone. A value that came with its record from another zone has the
    /// stamp of an author who may never have.
    private func hasWritten(_ author: Author) throws -> Bool {
      try part.context[author] != nil || merger.records.hasWritten(author)
    }

    /// Returns whether the author had merged the write with this stamp before this unit.
    private func hadSeen(_ stamp: Stamp, _ author: Author) throws -> Bool {
      if author == part.header.author {
        return try stamp.author == author || merger.seenBefore().hasSeen(stamp)
      }
      return try merger.records.hasSeen(stamp, author)
    }
  }
}

extension ZoneRecords {
  /// Returns whether an author has merged the write with this stamp, as far as its change sets that are merged here
  /// show it.
  func hasSeen(_ stamp: Stamp, _ author: Author) throws -> Bool {
    guard stamp.author != author, let number = try transaction.catalog.knownAuthor(author) else { return true }
    return try transaction.catalog.heads.context(of: number, zone.id).hasSeen(stamp)
  }

  /// Returns whether an author may not have merged the write with this stamp before it wrote another value of the same
  /// record. A stamp of an author who never wrote in this zone came with the record's birth, and nobody writes to a
  /// record without having merged its birth.
  func mayBeUnseen(_ stamp: Stamp, by author: Author) throws -> Bool {
    try hasWritten(stamp.author) && !hasSeen(stamp, author)
  }

  /// The `mesh_conflict.col` of a delete.
  static let wholeRecord: Int64 = 0

  /// Lists a value that lost, and keeps the bytes of a BLOB. Call it before the row changes.
  ///
  /// - Parameters:
  ///   - owner: The account whose change set caused the conflict, or nil if none did.
  ///   - isByWrite: Whether it lost to another value of the same life of the record.
  func noteConflict(
    _ ref: RecordRef, _ loss: State.Loss, by owner: [UInt8]? = nil, isByWrite: Bool = false, now: Int64
  ) throws {
    try transaction.conflicts.insert(
      ref, in: zone.id, column: loss.column, loss.loser.value, local(loss.loser.stamp), winner: loss.winner.map(local),
      wasLocal: loss.wasLocal, isByWrite: isByWrite, cause: owner, now: now)
    if let asset = loss.loser.value.asset { try transaction.kept.keep(asset, ref, loss.column, isConflict: true) }
  }
}

extension RecordState<Int64> {
  /// Converts a row of a change set, with columns as numbers.
  init(_ change: RowChange, columns: [Int64], _ long: LongValues) throws {
    var cells: [Int64: Cell] = [:]
    for field in change.fields {
      let value = try long.value(of: field.value)
      cells[columns[field.column]] = Cell(stamp: field.stamp ?? change.stamp, value: value)
    }
    self.init(generation: change.generation, life: change.isLife ? change.stamp : nil, cells: cells)
  }
}
