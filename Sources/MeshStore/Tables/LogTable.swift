import MeshCore

/// The change sets as they were signed (`mesh_log`), and the order in which they were merged (`mesh_order`).
///
/// Reverted change sets of this account are kept under the negative number of their zone.
struct LogTable {
  let sql: Connection

  // MARK: Reading

  func bytes(_ number: UInt64, of author: Int64, in zone: Int64) throws -> [UInt8]? {
    try sql.first(
      "SELECT bytes FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
      [.integer(zone), .integer(author), .bits(number)]
    ) { $0.bytes(0) }
  }

  /// Returns a change set that `mesh_head` counts.
  func counted(_ number: UInt64, of author: Int64, in zone: Int64) throws -> [UInt8] {
    if let bytes = try bytes(number, of: author, in: zone) { return bytes }
    throw StoreError(.corrupt, "mesh_log lacks a change set that mesh_head counts; restore the file from a copy")
  }

  func id(_ number: UInt64, of author: Int64, in zone: Int64) throws -> ChangeSetID? {
    try sql.first(
      "SELECT changeset FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
      [.integer(zone), .integer(author), .bits(number)]
    ) { ChangeSetID($0.bytes(0)) } ?? nil
  }

  /// Returns the time of a change set. It is zero if the change set is not here.
  func time(_ number: UInt64, of author: Int64, in zone: Int64) throws -> HybridTime {
    let time = try sql.integer(
      "SELECT time FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
      [.integer(zone), .integer(author), .bits(number)])
    return HybridTime(UInt64(bitPattern: time ?? 0))
  }

  /// Returns the end of the unit that `number` belongs to, or nil if it is not here.
  func unitEnd(from number: UInt64, of author: Int64, in zone: Int64) throws -> UInt64? {
    try sql.integer(
      "SELECT number FROM mesh_log WHERE zone = ? AND author = ? AND number >= ? AND final = 1 ORDER BY number LIMIT 1",
      [.integer(zone), .integer(author), .bits(number)]
    ).map { UInt64(bitPattern: $0) }
  }

  /// Returns the end of the last unit below a number, or 0 if there is none.
  func unitEnd(below number: UInt64, of author: Int64, in zone: Int64) throws -> UInt64 {
    let end = try sql.integer(
      "SELECT max(number) FROM mesh_log WHERE zone = ? AND author = ? AND number < ? AND final = 1",
      [.integer(zone), .integer(author), .bits(number)])
    return UInt64(bitPattern: end ?? 0)
  }

  /// Returns the end of the last unit that is not later than a time, or 0 if there is none.
  func unitEnd(notLaterThan time: HybridTime, of author: Int64, in zone: Int64) throws -> UInt64 {
    let end = try sql.integer(
      "SELECT max(number) FROM mesh_log WHERE zone = ? AND author = ? AND final = 1 AND time <= ?",
      [.integer(zone), .integer(author), .bits(time.value)])
    return UInt64(bitPattern: end ?? 0)
  }

  /// Returns the bytes of the author's change sets above a number, up to another one.
  func size(above first: UInt64, through last: UInt64, of author: Int64, in zone: Int64) throws -> Int64 {
    try sql.integer(
      "SELECT sum(size) FROM mesh_log WHERE zone = ? AND author = ? AND number > ? AND number <= ?",
      [.integer(zone), .integer(author), .bits(first), .bits(last)]) ?? 0
  }

  /// Returns the next change set in the order of authors and numbers.
  func next(after author: Int64, _ number: UInt64, in zone: Int64) throws -> (author: Int64, number: UInt64)? {
    try sql.first(
      """
      SELECT author, number FROM mesh_log WHERE zone = ?1 AND (author, number) > (?2, ?3) ORDER BY author, number LIMIT 1
      """, [.integer(zone), .integer(author), .bits(number)]
    ) { ($0.integer(0), $0.bits(1)) }
  }

  /// Visits the author's change sets up to a number, the last one first, until the closure returns false.
  func forEach(through number: UInt64, of author: Int64, in zone: Int64, _ visit: ([UInt8]) throws -> Bool) throws {
    let statement = try sql.statement(
      "SELECT bytes FROM mesh_log WHERE zone = ? AND author = ? AND number <= ? ORDER BY number DESC")
    defer { statement.reset() }
    statement.bind([.integer(zone), .integer(author), .bits(min(number, UInt64(Int64.max)))])
    while try statement.step(), try visit(statement.bytes(0)) {}
  }

  /// A merged change set, whose bytes are read when they are needed.
  struct Merged {
    fileprivate let row: PreparedStatement
    var position: Int64 { row.integer(0) }
    var author: Int64 { row.integer(1) }
    var number: UInt64 { row.bits(2) }
    var size: Int { Int(row.integer(3)) }
    var bytes: [UInt8] { row.bytes(4) }
  }

  /// Visits the change sets between two positions in the order of merging, until the closure returns false.
  func forEachMerged(
    after position: Int64, before end: Int64, in zone: Int64, _ visit: (Merged) throws -> Bool
  ) throws {
    let statement = try sql.statement(
      """
      SELECT position, author, number, size, bytes FROM mesh_order CROSS JOIN mesh_log USING (zone, author, number)
      WHERE zone = ? AND position > ? AND position < ? ORDER BY position
      """)
    defer { statement.reset() }
    statement.bind([.integer(zone), .integer(position), .integer(end)])
    while try statement.step(), try visit(Merged(row: statement)) {}
  }

  // MARK: Writing

  func insert(_ changeSet: ChangeSet, of author: Int64, in zone: Int64) throws {
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

  /// Adds change sets to the order of merging.
  func place(_ numbers: ClosedRange<UInt64>, of author: Int64, in zone: ZoneCounters) throws {
    for number in numbers {
      try sql.run(
        "INSERT INTO mesh_order (zone, position, author, number) VALUES (?, ?, ?, ?)",
        [.integer(zone.id), .integer(zone.nextPosition), .integer(author), .bits(number)])
      zone.nextPosition += 1
    }
  }

  /// Removes the author's change sets above a number.
  ///
  /// - Parameter areKept: True to keep them as reverted ones.
  func truncate(above number: UInt64, of author: Int64, in zone: Int64, areKept: Bool) throws {
    let place: [Value] = [.integer(zone), .integer(author), .bits(number)]
    if areKept {
      try sql.run(
        "UPDATE OR REPLACE mesh_log SET zone = -zone WHERE zone = ? AND author = ? AND number > ?", place)
    }
    try sql.run("DELETE FROM mesh_log WHERE zone = ? AND author = ? AND number > ?", place)
    try sql.run("DELETE FROM mesh_order WHERE zone = ? AND author = ? AND number > ?", place)
  }

  /// Removes some of a zone's change sets. When all are removed, removes their order, and returns false.
  func removeSlice(of zone: Int64) throws -> Bool {
    try sql.run(
      "DELETE FROM mesh_log WHERE id IN (SELECT id FROM mesh_log WHERE zone = ? LIMIT ?)",
      [.integer(zone), .count(Choices.slice)])
    if try sql.exists("SELECT 1 FROM mesh_log WHERE zone = ?", [.integer(zone)]) { return true }
    try sql.run("DELETE FROM mesh_order WHERE zone = ?", [.integer(zone)])
    return false
  }

  // MARK: Reverted

  func hasReverted(in zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_log WHERE zone = ?", [.integer(-zone)])
  }

  func authorsOfReverted(in zone: Int64) throws -> [Int64] {
    try sql.all("SELECT DISTINCT author FROM mesh_log WHERE zone = ? ORDER BY author", [.integer(-zone)]) {
      $0.integer(0)
    }
  }

  func reverted(_ number: UInt64, of author: Int64, in zone: Int64) throws -> [UInt8]? {
    try bytes(number, of: author, in: -zone)
  }

  func removeReverted(through number: UInt64, of author: Int64, in zone: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_log WHERE zone = ? AND author = ? AND number <= ?",
      [.integer(-zone), .integer(author), .bits(number)])
  }

  func removeReverted(of author: Int64, in zone: Int64) throws {
    try sql.run("DELETE FROM mesh_log WHERE zone = ? AND author = ?", [.integer(-zone), .integer(author)])
  }

  func removeReverted(in zone: Int64) throws {
    try sql.run("DELETE FROM mesh_log WHERE zone = ?", [.integer(-zone)])
  }
}
