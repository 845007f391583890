import Foundation
import GRDB
import MeshCore

/// The numbers of columns (`mesh_column`), of lists of columns (`mesh_layout`) and of authors (`mesh_author`), and the
/// names that authors used (`mesh_named`).
struct NameTable {
  let sql: Connection

  // MARK: Columns

  func column(_ name: String, of table: Int64) throws -> Int64? {
    try sql.integer("SELECT id FROM mesh_column WHERE tbl = ? AND name = ?", [.integer(table), .text(name)])
  }

  func name(_ column: Int64) throws -> String? {
    try sql.first("SELECT name FROM mesh_column WHERE id = ?", [.integer(column)]) { $0.text(0) }
  }

  /// Returns all columns that were ever known of a table, those of renamed columns included.
  func columns(of table: Int64) throws -> [Int64] {
    try sql.all("SELECT id FROM mesh_column WHERE tbl = ?", [.integer(table)]) { $0.integer(0) }
  }

  /// Adds a column that is not known. Returns its number.
  func insertColumn(_ name: String, of table: Int64) throws -> Int64 {
    try sql.run("INSERT INTO mesh_column (tbl, name) VALUES (?, ?)", [.integer(table), .text(name)])
    return sql.lastInsertedID
  }

  /// Returns the former names of a table's renamed columns, as numbers.
  func origins(of table: Int64) throws -> [Int64: Int64] {
    let origins = try sql.all(
      "SELECT id, origin FROM mesh_column WHERE tbl = ? AND origin IS NOT NULL", [.integer(table)]
    ) { ($0.integer(0), $0.integer(1)) }
    return Dictionary(origins, uniquingKeysWith: { first, _ in first })
  }

  func setOrigin(_ origin: Int64, of column: Int64) throws {
    try sql.run("UPDATE mesh_column SET origin = ? WHERE id = ?", [.integer(origin), .integer(column)])
  }

  /// Returns whether some column is a part of another one.
  func hasParts() throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_column WHERE name LIKE 'mesh\\_%' ESCAPE '\\' LIMIT 1")
  }

  // MARK: Lists of columns

  func layout(_ id: Int64) throws -> [Int64] {
    let text = try sql.first("SELECT columns FROM mesh_layout WHERE id = ?", [.integer(id)]) { $0.text(0) } ?? "[]"
    return text.dropFirst().dropLast().split(separator: ",").compactMap { Int64($0) }
  }

  func layout(of columns: [Int64], _ table: Int64) throws -> Int64? {
    try sql.integer(
      "SELECT id FROM mesh_layout WHERE tbl = ? AND columns = ?", [.integer(table), .text(Self.text(columns))])
  }

  /// Adds a list that is not known. Returns its number.
  func insertLayout(_ columns: [Int64], of table: Int64) throws -> Int64 {
    try sql.run(
      "INSERT INTO mesh_layout (tbl, key, columns) VALUES (?, 0, ?)", [.integer(table), .text(Self.text(columns))])
    return sql.lastInsertedID
  }

  fileprivate static func text(_ columns: [Int64]) -> String {
    "[" + columns.map(String.init).joined(separator: ",") + "]"
  }

  // MARK: Authors

  func author(_ number: Int64) throws -> Author {
    let author = try sql.first("SELECT device, instance FROM mesh_author WHERE id = ?", [.integer(number)]) { row in
      DeviceID(row.bytes(0)).map { Author(device: $0, instance: InstanceID(row.bits(1))) }
    }
    guard let author, let author else {
      throw StoreError(.statementFailed, "mesh_author lacks the author \(number); restore the file from a copy")
    }
    return author
  }

  func number(_ author: Author) throws -> Int64? {
    try sql.integer(
      "SELECT id FROM mesh_author WHERE device = ? AND instance = ?",
      [.blob(author.device.bytes), .bits(author.instance.value)])
  }

  /// Returns the number of the author with an instance. A file that was copied has another device's instance.
  ///
  /// - Parameter device: The device that has the file now.
  func author(with instance: InstanceID, in device: DeviceID) throws -> Int64? {
    try sql.integer(
      "SELECT id FROM mesh_author WHERE instance = ? ORDER BY device = ? LIMIT 1",
      [.bits(instance.value), .blob(device.bytes)])
  }

  /// Adds an author that is not known. Returns its number.
  func insert(_ author: Author) throws -> Int64 {
    try sql.run(
      "INSERT INTO mesh_author (device, instance) VALUES (?, ?)",
      [.blob(author.device.bytes), .bits(author.instance.value)])
    return sql.lastInsertedID
  }

  // MARK: Names of authors

  /// - Parameter column: The column whose name the author used, or 0 for the table's own name.
  func hasNamed(_ author: Int64, in zone: Int64, _ table: Int64, _ column: Int64) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM mesh_named WHERE zone = ? AND author = ? AND tbl = ? AND col = ?",
      [.integer(zone), .integer(author), .integer(table), .integer(column)])
  }

  func noteNamed(_ author: Int64, in zone: Int64, _ table: Int64, _ column: Int64) throws {
    try sql.run(
      "INSERT INTO mesh_named (zone, author, tbl, col) VALUES (?, ?, ?, ?)",
      [.integer(zone), .integer(author), .integer(table), .integer(column)])
  }

  func namedCount(_ author: Int64, in zone: Int64) throws -> Int {
    let count = try sql.integer(
      "SELECT count(*) FROM mesh_named WHERE zone = ? AND author = ?", [.integer(zone), .integer(author)])
    return Int(count ?? 0)
  }

  /// Returns the number of names that each author used in each zone.
  func namedCounts() throws -> [(zone: ZoneID?, author: Int64, count: Int)] {
    try sql.all(
      """
      SELECT mesh_zone.zone, author, count(*) FROM mesh_named JOIN mesh_zone ON mesh_zone.id = mesh_named.zone
      GROUP BY mesh_named.zone, author
      """
    ) { (ZoneID($0.bytes(0)), $0.integer(1), Int($0.integer(2))) }
  }

  func removeNamed(by author: Int64, in zone: Int64) throws {
    try sql.run("DELETE FROM mesh_named WHERE zone = ? AND author = ?", [.integer(zone), .integer(author)])
  }

  func removeNamed(in zone: Int64) throws { try sql.run("DELETE FROM mesh_named WHERE zone = ?", [.integer(zone)]) }
}

extension Layout {
  /// Returns the layout with this number, or nil if there is none.
  static func read(_ db: Database, id: Int64) throws -> Layout? {
    let statement = try db.cachedStatement(sql: "SELECT tbl, key, columns FROM mesh_layout WHERE id = ?")
    guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    let text: String = row["columns"]
    return Layout(
      id: id, table: row["tbl"], key: row["key"],
      columns: try JSONDecoder().decode([Int64].self, from: Data(text.utf8)))
  }

  /// Returns the layout that describes the table: the current one if it does, otherwise a new one.
  static func intern(_ db: Database, table: Int64, current: Int64?, key: String, columns: [String]) throws -> Layout {
    let key = try columnID(db, table: table, name: key)
    let columns = try columns.map { try columnID(db, table: table, name: $0) }
    if let current, let layout = try read(db, id: current), layout.key == key, layout.columns == columns {
      return layout
    }
    try db.execute(
      sql: "INSERT INTO mesh_layout (tbl, key, columns) VALUES (?, ?, ?)",
      arguments: [table, key, NameTable.text(columns)])
    return Layout(id: db.lastInsertedRowID, table: table, key: key, columns: columns)
  }

  /// Returns the number of a column's name. Assigns a new one if it has none.
  static func columnID(_ db: Database, table: Int64, name: String) throws -> Int64 {
    let select = try db.cachedStatement(sql: "SELECT id FROM mesh_column WHERE tbl = ? AND name = ?")
    if let id = try Int64.fetchOne(select, arguments: [table, name]) { return id }
    try db.execute(sql: "INSERT INTO mesh_column (tbl, name) VALUES (?, ?)", arguments: [table, name])
    return db.lastInsertedRowID
  }

  static func columnName(_ db: Database, id: Int64) throws -> String? {
    try String.fetchOne(db, sql: "SELECT name FROM mesh_column WHERE id = ?", arguments: [id])
  }

  /// Notes that a column was renamed.
  static func setOrigin(_ db: Database, _ origin: Int64, of column: Int64) throws {
    try db.execute(sql: "UPDATE mesh_column SET origin = ? WHERE id = ?", arguments: [origin, column])
  }
}
