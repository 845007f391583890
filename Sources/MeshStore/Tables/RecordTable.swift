import MeshCore

/// The merged state of the records, without the values that the app's tables show (`mesh_record`).
struct RecordTable {
  let sql: Connection

  // MARK: The zones of a record

  /// The states of a record in a zone.
  enum State {
    case any, alive, deleted
    /// It waits for a row that shows another zone's record.
    case rival
    /// It was shown by a table that is not synchronized now.
    case untracked

    fileprivate var select: String {
      switch self {
      case .any: Self.zones
      case .alive: Self.living
      case .deleted: Self.dead
      case .rival: Self.rivals
      case .untracked: Self.shownBefore
      }
    }

    private static let zones = "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ?"
    private static let living = "\(zones) AND generation & 1"
    private static let dead = "\(zones) AND NOT generation & 1"
    private static let rivals = "\(living) AND held = \(HeldReason.slotTaken.rawValue)"
    private static let shownBefore =
      "\(living) AND held IN (\(HeldReason.unknownTable.rawValue), \(HeldReason.untracked.rawValue))"
  }

  /// Returns the zones in which a record has a state.
  func zones(of ref: RecordRef, _ state: State = .any, besides zone: Int64 = 0) throws -> [Int64] {
    try sql.all(state.select, ref.place(in: zone)) { $0.integer(0) }
  }

  func exists(_ ref: RecordRef, _ state: State = .any, besides zone: Int64 = 0) throws -> Bool {
    try sql.exists(state.select, ref.place(in: zone))
  }

  /// Returns the zone whose record the row shows.
  func zone(showing ref: RecordRef, besides zone: Int64) throws -> Int64? {
    try sql.integer(
      "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND zone <> ? AND held IS NULL AND generation & 1",
      ref.place(in: zone))
  }

  /// Returns the zones that have a record, and those in which its row is not sent, with whether the row shows it.
  func zonesToExplain(_ ref: RecordRef) throws -> [(zone: Int64, isShown: Bool)] {
    try sql.all(
      """
      SELECT zone, held IS NULL AND generation & 1 FROM mesh_record WHERE tbl = ?1 AND key = ?2
      UNION SELECT zone, 0 FROM mesh_held WHERE tbl = ?1 AND key = ?2 AND reason IN (\(HeldTable.unsent))
        AND (tbl, key, zone) NOT IN (SELECT tbl, key, zone FROM mesh_record WHERE tbl = ?1 AND key = ?2)
      """, ref.place
    ) { ($0.integer(0), $0.integer(1) == 1) }
  }

  /// Returns the other tables that have a record with the key in the zone.
  func tables(with ref: RecordRef, in zone: Int64) throws -> [Int64] {
    try sql.all(
      "SELECT tbl FROM mesh_record WHERE tbl IN (SELECT id FROM mesh_table WHERE id <> ?) AND key = ? AND zone = ?",
      ref.place(in: zone)
    ) { $0.integer(0) }
  }

  // MARK: The records of a zone

  func list(_ zone: Int64, limit: Int) throws -> [RecordRef] {
    try sql.all("SELECT tbl, key FROM mesh_record WHERE zone = ? LIMIT ?", [.integer(zone), .count(limit)]) {
      $0.ref(0)
    }
  }

  /// Returns the tables that have records held for a reason, except former names of tables.
  func tables(held reason: HeldReason) throws -> [Int64] {
    try sql.all(
      """
      SELECT DISTINCT tbl FROM mesh_record WHERE extra IS NOT NULL AND held = ?
        AND tbl NOT IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL)
      """, [.integer(reason.rawValue)]
    ) { $0.integer(0) }
  }

  /// Returns the next records that are not wholly in their tables, ordered by table and key.
  func incomplete(_ zone: Int64, after last: RecordRef) throws -> [RecordRef] {
    try sql.all(
      """
      SELECT tbl, key FROM mesh_record WHERE zone = ?1 AND extra IS NOT NULL AND (tbl > ?2 OR (tbl = ?2 AND key > ?3))
      ORDER BY tbl, key LIMIT ?4
      """, [.integer(zone)] + last.place + [.count(Choices.slice)]
    ) { $0.ref(0) }
  }

  func deleted(of table: Int64, in zone: Int64) throws -> [RecordRef] {
    try sql.all(
      "SELECT tbl, key FROM mesh_record WHERE tbl = ? AND zone = ? AND NOT generation & 1",
      [.integer(table), .integer(zone)]
    ) { $0.ref(0) }
  }

  // MARK: Held records

  private static let held =
    "FROM mesh_record WHERE extra IS NOT NULL AND held IS NOT NULL AND tbl NOT IN (\(TableList.untracked))"

  /// Returns the number of held records that have no row, by reason.
  func heldCounts() throws -> [HeldReason: Int] {
    let counts = try sql.all("SELECT held, count(*) \(Self.held) GROUP BY held") { row in
      HeldReason(rawValue: row.integer(0)).map { ($0, Int(row.integer(1))) }
    }
    return Dictionary(counts.compactMap(\.self), uniquingKeysWith: +)
  }

  /// Returns the number of records that are kept for each table that was synchronized here until a person stopped it. A
  /// table that continues under another name doesn't count.
  func untrackedCounts() throws -> [(table: Int64, count: Int)] {
    try sql.all(
      """
      SELECT tbl, count(*) FROM mesh_record WHERE extra IS NOT NULL AND held IS NOT NULL AND tbl IN (
        SELECT id FROM mesh_table WHERE tracked = 0 AND layout IS NOT NULL
          AND id NOT IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL)) GROUP BY tbl
      """
    ) { ($0.integer(0), Int($0.integer(1))) }
  }

  /// Returns the records that are held for one of the reasons, and have no row.
  func held(for reasons: [HeldReason]) throws -> [HeldTable.Place] {
    let list = reasons.map { "\($0.rawValue)" }.joined(separator: ", ")
    return try sql.all("SELECT zone, tbl, key \(Self.held) AND held IN (\(list))") { ($0.integer(0), $0.ref(1)) }
  }

  // MARK: The records of a table

  /// Returns whether records of a table wait for it to be synchronized again.
  func hasUntracked(_ table: Int64) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM mesh_record WHERE tbl = ? AND held = ? LIMIT 1",
      [.integer(table), .integer(HeldReason.untracked.rawValue)])
  }

  /// Returns whether a table shows records of a share that is not stopped.
  func isShared(_ table: Int64) throws -> Bool {
    try sql.exists(
      """
      SELECT 1 FROM mesh_record WHERE tbl = ? AND held IS NULL AND generation & 1
        AND zone IN (SELECT id FROM mesh_zone WHERE root_table IS NOT NULL AND NOT stopped) LIMIT 1
      """, [.integer(table)])
  }

  /// Returns whether a table has records in read-only zones that another table doesn't have.
  func remains(of table: Int64, besides successor: Int64) throws -> Bool {
    try sql.exists(
      """
      SELECT 1 FROM mesh_record r WHERE tbl = ?1 AND generation & 1
        AND zone IN (SELECT id FROM mesh_zone WHERE role = \(ZoneStanding.Role.readOnly.rawValue))
        AND NOT EXISTS (SELECT 1 FROM mesh_record n WHERE n.tbl = ?2 AND n.key = r.key AND n.zone = r.zone)
      """, [.integer(table), .integer(successor)])
  }

  /// Returns some live records of a table.
  ///
  /// - Parameter onlyShown: True for only those that the table shows.
  func some(of table: Int64, onlyShown: Bool, limit: Int) throws -> [HeldTable.Place] {
    try sql.all(
      "SELECT zone, tbl, key FROM mesh_record WHERE tbl = ? AND generation & 1 AND (NOT ? OR held IS NULL) LIMIT ?",
      [.integer(table), .integer(onlyShown ? 1 : 0), .count(limit)]
    ) { ($0.integer(0), $0.ref(1)) }
  }

  /// Visits the records that a table shows, ordered by key and zone, until the closure returns false.
  func forEachShown(_ table: Int64, _ visit: (_ key: Value, _ zone: Int64) throws -> Bool) throws {
    let rows = try sql.statement(
      "SELECT key, zone FROM mesh_record WHERE tbl = ? AND generation & 1 AND held IS NULL ORDER BY key, zone")
    defer { rows.reset() }
    rows.bind(table, at: 1)
    while try rows.step(), try visit(rows.value(0), rows.integer(1)) {}
  }

  /// The records of a table that are compared with its rows.
  enum Side {
    /// All that are alive.
    case alive
    /// Those that the table shows.
    case shown
    /// Those that the table showed before it was recreated.
    case shownBefore
    /// Those that the table showed until it was no longer synchronized.
    case untracked
    /// Those that are alive and held.
    case held

    fileprivate var condition: String {
      switch self {
      case .alive: "generation & 1"
      case .shown: "generation & 1 AND held IS NULL"
      case .shownBefore: "generation & 1 AND ifnull(held, 3) = \(HeldReason.unknownTable.rawValue)"
      case .untracked: "held = \(HeldReason.untracked.rawValue)"
      case .held: "generation & 1 AND held IS NOT NULL"
      }
    }
  }

  func count(_ side: Side, of table: Int64) throws -> Int {
    Int(try sql.integer("SELECT count(*) FROM mesh_record WHERE tbl = ? AND \(side.condition)", [.integer(table)]) ?? 0)
  }

  func keys(_ side: Side, of table: Int64) throws -> [Value] {
    try sql.all("SELECT key FROM mesh_record WHERE tbl = ? AND \(side.condition)", [.integer(table)]) { $0.value(0) }
  }

  /// Returns the keys of records without a row in their table.
  func keysWithoutRow(_ side: Side, of table: TableForm) throws -> [Value] {
    let here = (table.schema.name, table.keyName)
    return try sql.all("SELECT key \(Self.withoutRow(side, here))", [.integer(table.id)]) { $0.value(0) }
  }

  /// Returns the number of records without a row in an app's table.
  func countWithoutRow(_ side: Side, of table: Int64, here: Here) throws -> Int {
    Int(try sql.integer("SELECT count(*) \(Self.withoutRow(side, here))", [.integer(table)]) ?? 0)
  }

  /// An app's table, and its key.
  typealias Here = (name: String, key: String)

  private static func withoutRow(_ side: Side, _ here: Here) -> String {
    """
    FROM mesh_record WHERE tbl = ? AND \(side.condition) AND NOT EXISTS (
      SELECT 1 FROM main.\(here.name.quotedName) AS t WHERE t.\(here.key.quotedName) = mesh_record.key)
    """
  }
}

/// Reads and writes the records of one zone. The statements are looked up once, because they run for every record.
final class RecordAccess {
  private let sql: Connection
  private let zone: Int64
  /// Most records of an access have the same stamps as the one before.
  private var packed: (stamps: RecordStamps, bytes: [UInt8])?

  init(_ sql: Connection, zone: Int64) { (self.sql, self.zone) = (sql, zone) }

  private lazy var loading = Result { try sql.statement(Self.load) }
  private lazy var saving = Result { try sql.statement("INSERT OR REPLACE \(Self.row)") }
  private lazy var inserting = Result { try sql.statement("INSERT OR IGNORE \(Self.row)") }

  private static let load =
    "SELECT generation, hash, stamps, extra, held FROM mesh_record WHERE tbl = ? AND key = ? AND zone = ?"
  private static let row = """
    INTO mesh_record (tbl, key, zone, generation, hash, stamps, extra, held) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """

  func load(_ ref: RecordRef) throws -> StoredRecord? {
    let statement = try loading.get()
    defer { statement.reset() }
    bind(ref, to: statement)
    guard try statement.step() else { return nil }
    var record = StoredRecord(
      generation: statement.bits(0), hash: statement.optionalBytes(1).flatMap(RecordHash.init),
      stamps: try RecordStamps(statement.bytes(2)), held: statement.optional(4).flatMap(HeldReason.init))
    if let extra = statement.optionalBytes(3) { try ExtraValues.decode(extra, into: &record) }
    return record
  }

  func save(_ ref: RecordRef, _ record: StoredRecord) throws { try write(try saving.get(), ref, record) }

  /// Writes a record that may be known. Returns false, and writes nothing, if it is.
  func insert(_ ref: RecordRef, _ record: StoredRecord) throws -> Bool {
    try write(try inserting.get(), ref, record)
    return sql.changes == 1
  }

  func remove(_ ref: RecordRef) throws {
    try sql.run("DELETE FROM mesh_record WHERE tbl = ? AND key = ? AND zone = ?", ref.place(in: zone))
  }

  private func write(_ statement: PreparedStatement, _ ref: RecordRef, _ record: StoredRecord) throws {
    bind(ref, to: statement)
    statement.bind(Int64(bitPattern: record.generation), at: 4)
    statement.bind(record.hash, at: 5)
    if packed?.stamps != record.stamps { packed = (record.stamps, record.stamps.encoded) }
    statement.bind(packed?.bytes, at: 6)
    statement.bind(ExtraValues.encode(record), at: 7)
    statement.bind(.optional(record.held?.rawValue), at: 8)
    try statement.execute()
  }

  private func bind(_ ref: RecordRef, to statement: PreparedStatement) {
    statement.bind(ref.table, at: 1)
    statement.bind(ref.key, at: 2)
    statement.bind(zone, at: 3)
  }
}
