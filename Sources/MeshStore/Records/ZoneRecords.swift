import MeshCore

/// The records of one zone inside one access: the merged state, joined with the values that the tables show.
final class ZoneRecords {
  typealias State = RecordState<Int64>

  let transaction: Transaction
  let zone: ZoneCounters
  /// The cells of the records that were packed in this access.
  private(set) var packedCells = 0
  /// True if the digest has changed since `noteAhead`.
  private var hasCounted = false
  private var sql: Connection { transaction.sql }
  private var catalog: Catalog { transaction.catalog }

  init(_ transaction: Transaction, zone: ZoneCounters) {
    self.transaction = transaction
    self.zone = zone
  }

  // MARK: Reading

  private lazy var access = RecordAccess(sql, zone: zone.id)

  private var selecting: [Int64: PreparedStatement] = [:]

  func load(_ ref: RecordRef) throws -> StoredRecord? { try access.load(ref) }

  /// Returns the table's row, in the order of its columns, without the bytes of long BLOBs. Returns nil if there is
  /// none.
  func row(_ table: TableForm, _ key: Value) throws -> [Value]? {
    guard table.isHere, table.keeps(key) else { return nil }
    let statement = try selection(table)
    defer { statement.reset() }
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    return table.row(statement)
  }

  /// Returns a row in which long BLOBs have names, if they are the ones that the record's row has. By default, only
  /// their sizes are compared.
  ///
  /// - Parameter isSame: Compares the column with this index more closely.
  func named(
    _ row: [Value], _ record: StoredRecord, _ table: TableForm, _ isSame: (Int, Asset) throws -> Bool
  ) rethrows -> [Value] {
    guard row.contains(where: \.isUnread) else { return row }
    return try row.enumerated().map { index, value in
      let column = table.columns[index].id
      guard value.isUnread, let known = (record.shown[column] ?? record.extra[column])?.asset,
        known.size == value.asset?.size, try isSame(index, known)
      else { return value }
      return .asset(known)
    }
  }

  private func selection(_ table: TableForm) throws -> PreparedStatement {
    if let known = selecting[table.id] { return known }
    let statement = try sql.statement(table.select)
    selecting[table.id] = statement
    return statement
  }

  func named(_ row: [Value], _ record: StoredRecord, _ table: TableForm) -> [Value] {
    named(row, record, table) { _, _ in true }
  }

  func hasRow(_ table: TableForm, _ key: Value) throws -> Bool { try table.hasRow(key, sql) }

  /// Returns the columns that have a stamp, in ascending order.
  func columns(_ stamps: RecordStamps) throws -> [(column: Int64, stamp: LocalStamp)] {
    let covered = try catalog.layout(stamps.layout)
    if stamps.exceptions.isEmpty { return covered.sorted().map { ($0, stamps.base) } }
    var all = Dictionary(covered.map { ($0, stamps.base) }, uniquingKeysWith: { first, _ in first })
    for exception in stamps.exceptions { all[exception.column] = exception.stamp }
    return all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Returns the merged values of the columns that have a stamp: from `extra` if it has them, otherwise from the row.
  ///
  /// - Parameters:
  ///   - known: The row, with names of its long BLOBs if they have any.
  ///   - form: The table that the row is in. By default it is the catalog's.
  func values(
    _ ref: RecordRef, _ record: StoredRecord, row known: [Value]?? = nil, of form: TableForm? = nil
  ) throws -> [Int64: Value] {
    guard record.isAlive else { return [:] }
    var values = record.extra
    guard record.held == nil, let table = form ?? catalog.table(ref.table) else { return values }
    guard let row = try known ?? row(table, ref.key).map({ named($0, record, table) }) else { return values }
    for (column, _) in try columns(record.stamps) where values[column] == nil {
      if let index = table.indexes[column] { values[column] = row[index] }
    }
    return values
  }

  func state(_ ref: RecordRef, _ record: StoredRecord) throws -> State {
    let values = try values(ref, record)
    var cells: [Int64: State.Cell] = [:]
    for (column, stamp) in try columns(record.stamps) {
      cells[column] = State.Cell(stamp: try global(stamp), value: values[column] ?? .null)
    }
    let life = record.stamps.life ?? record.stamps.base
    return State(generation: record.generation, life: life.author == 0 ? nil : try global(life), cells: cells)
  }

  /// Returns the stamp of a column's merged value, or nil if no write has set the column.
  func stamp(_ ref: RecordRef, _ column: Int64) throws -> Stamp? {
    try load(ref).flatMap { try state(ref, $0).cells[column]?.stamp }
  }

  func global(_ stamp: LocalStamp) throws -> Stamp { Stamp(time: stamp.time, author: try catalog.author(stamp.author)) }
  func local(_ stamp: Stamp) throws -> LocalStamp {
    if author?.name != stamp.author { author = (stamp.author, try catalog.authorNumber(stamp.author)) }
    return LocalStamp(author: author?.number ?? 0, time: stamp.time)
  }
  /// Most stamps of an access belong to one author.
  private var author: (name: Author, number: Int64)?

  /// Returns whether the zone has change sets of the author.
  func hasWritten(_ author: Author) throws -> Bool {
    guard let number = try catalog.knownAuthor(author) else { return false }
    return try transaction.catalog.heads.find(number, zone.id) != nil
  }

  // MARK: Packing

  /// Returns the row of `mesh_record` for a state that is not in its table yet: `extra` is empty, and nothing holds it.
  func pack(_ ref: RecordRef, _ state: State, previous: StoredRecord?) throws -> StoredRecord {
    packedCells += state.cells.count
    let life = try state.life.map(local)
    let columns = try state.cells.map { (column: $0.key, stamp: try local($0.value.stamp)) }.sorted {
      $0.column < $1.column
    }
    let kept = try previous.flatMap { $0.generation == state.generation ? try catalog.layout($0.stamps.layout) : nil }
    let stamps = try RecordStamps(columns, life: life, previous: kept) { try catalog.layoutNumber($0, of: ref.table) }
    return StoredRecord(
      generation: state.generation, hash: state.isAlive ? try hash(ref, state) : nil, stamps: stamps)
  }

  func hash(_ ref: RecordRef, _ state: State) throws -> RecordHash {
    try hash(
      ref, generation: state.generation, state.cells.map { ($0.key, $0.value.stamp, $0.value.value) })
  }

  func hash(
    _ ref: RecordRef, generation: UInt64, _ cells: [(column: Int64, stamp: Stamp, value: Value)]
  ) throws -> RecordHash {
    let named = try cells.map { (name: try catalog.column($0.column).folded, stamp: $0.stamp, value: $0.value) }
      .sorted { ColumnName.areInOrder($0.name, $1.name) }
    var bytes = RecordBytes(
      table: try catalog.tableName(ref.table).folded.bytes, key: ref.key, generation: generation)
    for cell in named { bytes.add(cell.name, cell.stamp, cell.value) }
    return RecordHash(bytes, transaction.cryptography)
  }

  // MARK: Writing

  /// Writes the row, and updates the zone's digest and number of live records.
  func save(_ ref: RecordRef, _ record: StoredRecord, replacing old: StoredRecord?) throws {
    var record = record
    if record.held != nil || record.isRefused {
      record.heldSince = try old?.heldSince ?? freed[ref] ?? time.get()
    } else {
      if let since = old?.heldSince { freed[ref] = since }
      record.heldSince = nil
    }
    try access.save(ref, record)
    try noteUses(ref, record.assetUses, replacing: old?.assetUses ?? [])
    if let hash = old?.hash { count(hash, leaving: true) }
    if let hash = record.hash { count(hash, leaving: false) }
  }

  /// The times since which records were held that this access has shown. If such a record is withdrawn again, it was
  /// out of its table all the while.
  private var freed: [RecordRef: Int64] = [:]

  /// The time by the file's own clock, which the triggers read as well.
  private(set) lazy var time = Result { try sql.integer("SELECT \(CaptureTriggers.wall)") ?? 0 }

  /// Writes a record that may be unknown here. Returns false, and writes nothing, if it is already known.
  func insert(_ ref: RecordRef, _ record: StoredRecord) throws -> Bool {
    guard try access.insert(ref, record) else { return false }
    if let hash = record.hash { count(hash, leaving: false) }
    return true
  }

  /// Deletes all data of the record.
  func remove(_ ref: RecordRef, _ old: StoredRecord) throws {
    try access.remove(ref)
    try noteUses(ref, [], replacing: old.assetUses)
    if let hash = old.hash { count(hash, leaving: true) }
  }

  private func noteUses(
    _ ref: RecordRef, _ uses: Set<StoredRecord.AssetUse>, replacing old: Set<StoredRecord.AssetUse>
  ) throws {
    // A value under a column's former name continues under the new one. No row waits for its bytes, and nothing is kept
    // for them.
    let former = transaction.catalog.table(ref.table)?.successors ?? [:]
    let isFormer = { (use: StoredRecord.AssetUse) in !use.isShown && former[use.column] != nil }
    guard uses != old || !former.isEmpty && uses.contains(where: isFormer) else { return }
    // In the account's own zones, a BLOB is not lost when the account loses a share.
    let isGuest = try catalog.zones().entries[zone.id]?.role == .readWrite
    try transaction.assets.replaceUses(of: ref, in: zone.id, uses, isFormer: isFormer) { use in
      try isGuest && use.author != 0 && transaction.isOfThisAccount(catalog.author(use.author).device)
    }
    transaction.staged.noteUses(of: Set(uses.map(\.asset)), replacing: Set(old.map(\.asset)))
  }

  /// Notes that the hashes of the records written here may have edits that are not flushed yet.
  func noteAhead() throws {
    guard hasCounted else { return }
    hasCounted = false
    zone.ahead = max(zone.ahead, try transaction.pending.last())
  }

  private func count(_ hash: RecordHash, leaving: Bool) {
    hasCounted = true
    if leaving {
      zone.digestLow &-= hash.low
      zone.digestHigh &-= hash.high
      zone.live -= 1
    } else {
      zone.digestLow &+= hash.low
      zone.digestHigh &+= hash.high
      zone.live += 1
    }
  }
}
