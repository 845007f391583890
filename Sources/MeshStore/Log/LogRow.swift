import MeshCore

/// Rows of `mesh_log`. Reverted change sets of this account are kept under the negative number of their zone.
enum LogRow {
  static func insert(_ sql: Connection, zone: Int64, author: Int64, _ changeSet: ChangeSet) throws {
    try sql.run(
      """
      INSERT INTO mesh_log (zone, author, number, changeset, time, final, size, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(zone), .integer(author), .bits(changeSet.header.number), .blob(changeSet.id.bytes),
        .bits(changeSet.header.time.value), .integer(changeSet.header.part.isFinal ? 1 : 0),
        .count(changeSet.bytes.count), .blob(changeSet.bytes),
      ])
  }

  static func bytes(_ sql: Connection, zone: Int64, author: Int64, number: UInt64) throws -> [UInt8]? {
    try sql.first(
      "SELECT bytes FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
      [.integer(zone), .integer(author), .bits(number)]
    ) { $0.bytes(0) }
  }

  static func id(_ sql: Connection, zone: Int64, author: Int64, number: UInt64) throws -> ChangeSetID? {
    try sql.first(
      "SELECT changeset FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
      [.integer(zone), .integer(author), .bits(number)]
    ) { ChangeSetID($0.bytes(0)) } ?? nil
  }

  /// Returns the end of the unit that `number` belongs to, or nil if it is not here.
  static func unitEnd(_ sql: Connection, zone: Int64, author: Int64, from number: UInt64) throws -> UInt64? {
    try sql.integer(
      "SELECT number FROM mesh_log WHERE zone = ? AND author = ? AND number >= ? AND final = 1 ORDER BY number LIMIT 1",
      [.integer(zone), .integer(author), .bits(number)]
    ).map { UInt64(bitPattern: $0) }
  }

  /// Adds change sets to the order of merging.
  static func place(_ sql: Connection, _ zone: inout ZoneRow, author: Int64, numbers: ClosedRange<UInt64>) throws {
    for number in numbers {
      try sql.run(
        "INSERT INTO mesh_order (zone, position, author, number) VALUES (?, ?, ?, ?)",
        [.integer(zone.id), .integer(zone.nextPosition), .integer(author), .bits(number)])
      zone.nextPosition += 1
    }
  }

  // MARK: Taken back

  static func keepTakenBack(_ sql: Connection, zone: Int64, author: Int64, above number: UInt64) throws {
    try sql.run(
      "UPDATE OR REPLACE mesh_log SET zone = ? WHERE zone = ? AND author = ? AND number > ?",
      [.integer(-zone), .integer(zone), .integer(author), .bits(number)])
  }

  static func hasTakenBack(_ sql: Connection, zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_log WHERE zone = ?", [.integer(-zone)])
  }

  static func authorsTakenBack(_ sql: Connection, zone: Int64) throws -> [Int64] {
    try sql.all("SELECT DISTINCT author FROM mesh_log WHERE zone = ? ORDER BY author", [.integer(-zone)]) {
      $0.integer(0)
    }
  }

  static func forget(takenBackThrough number: UInt64, _ sql: Connection, zone: Int64, author: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_log WHERE zone = ? AND author = ? AND number <= ?",
      [.integer(-zone), .integer(author), .bits(number)])
  }
}
