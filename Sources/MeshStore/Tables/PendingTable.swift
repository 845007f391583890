import MeshCore

/// The notes of the triggers, in the order of writing (`mesh_pending`), and a stretch of them that is sorted by record
/// (`mesh_run`).
struct PendingTable {
  let sql: Connection

  /// A note, as long as it is visited.
  struct Row {
    fileprivate let row: PreparedStatement
    var id: Int64 { row.integer(0) }
    var table: Int64 { row.integer(1) }
    var layout: Int64 { row.integer(2) }
    var hasKey: Bool { !row.isNull(3) }
    /// The key as it is spelled in the row.
    var key: Value { row.value(3) }
    var op: Int64 { row.integer(4) }
    var word: Int64 { row.integer(5) }
    var mask: Int64 { row.integer(6) }
    var wall: Int64 { row.integer(7) }
    /// The value before a write.
    var was: Value { row.value(8) }
  }

  /// A note that has a zone.
  struct Routed {
    let id: Int64
    let op: Int64
    let zone: Int64
    let table: Int64
    let key: Value
    let word: Int64
  }

  /// The end of an instance that another file may have continued.
  struct FormerInstance {
    /// The id of the note.
    let id: Int64
    /// The `mesh_author.id`.
    let author: Int64
    /// The time through which the other file may have sent what was noted before.
    let sentThrough: Int64
  }

  private static let columns = "id, tbl, layout, key, op, word, mask, wall, was"

  // MARK: Asking

  func count() throws -> Int { Int(try sql.integer("SELECT count(*) FROM mesh_pending") ?? 0) }

  /// Returns the number of notes up to an id.
  ///
  /// - Parameter filter: The zone whose notes to count, or 0 for all notes.
  func count(through last: Int64, _ filter: Int64) throws -> Int {
    let count = try sql.integer(
      "SELECT count(*) FROM mesh_pending WHERE id <= ?1 AND (?2 = 0 OR zone = ?2)", [.integer(last), .integer(filter)])
    return Int(count ?? 0)
  }

  /// Returns the id of the last note, or 0 if there is none.
  func last() throws -> Int64 { try sql.integer("SELECT max(id) FROM mesh_pending") ?? 0 }

  /// Returns the id of the first note.
  ///
  /// - Parameter filter: The zone whose notes to look at, or 0 for all notes.
  func first(_ filter: Int64) throws -> Int64? {
    try sql.integer("SELECT min(id) FROM mesh_pending WHERE ?1 = 0 OR zone = ?1", [.integer(filter)])
  }

  /// Returns the time of the first note, in milliseconds since 1970. It is not above 0 if the node made the note. Returns
  /// nil if there is no note.
  func firstTime() throws -> Int64? { try sql.integer("SELECT wall FROM mesh_pending ORDER BY id LIMIT 1") }

  /// Returns the earliest time of a note that has one.
  func oldest() throws -> Int64? { try sql.integer("SELECT min(wall) FROM mesh_pending WHERE wall > 0") }

  func isEmpty() throws -> Bool { try !sql.exists("SELECT 1 FROM mesh_pending LIMIT 1") }

  /// Returns whether there are more notes than a number.
  func hasMore(than count: Int) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending LIMIT 1 OFFSET ?", [.count(count)])
  }

  /// - Parameter filter: The zone whose notes to look for, or 0 for all notes.
  func has(_ filter: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE ?1 = 0 OR zone = ?1 LIMIT 1", [.integer(filter)])
  }

  func hasOthers(than zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE zone IS NOT ? LIMIT 1", [.integer(zone)])
  }

  /// Returns whether there are notes that belong to the zone, or may belong to it.
  func mayHave(_ zone: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE zone IS NULL OR zone = ? LIMIT 1", [.integer(zone)])
  }

  /// Returns whether there are notes of a record.
  ///
  /// - Parameter collation: The collation by which keys are compared.
  func has(_ ref: RecordRef, _ collation: String = "BINARY") throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE tbl = ? AND key = ? COLLATE \(collation) LIMIT 1", ref.place)
  }

  /// Returns whether there are notes of a table.
  func has(in table: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_pending WHERE tbl = ? LIMIT 1", [.integer(table)])
  }

  /// Returns whether there are notes that have a zone. They are flushed before moved records leave their old zones.
  func hasRouted() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending WHERE zone > 0 LIMIT 1") }

  func hasUnrouted() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending WHERE zone IS NULL LIMIT 1") }

  /// Returns the records that have moved to another zone, with the zones that they are about to leave.
  func departures() throws -> [(ref: RecordRef, zone: Int64)] {
    try sql.all("SELECT tbl, key, abs(zone) FROM mesh_pending WHERE op = \(PendingSlice.Op.depart)") {
      ($0.ref(0), $0.integer(2))
    }
  }

  /// Returns whether there are notes of zones that this device may not write.
  func hasForbidden() throws -> Bool { try sql.exists("\(Self.forbidden) LIMIT 1") }

  private static let forbidden =
    "SELECT id, op, zone, tbl, key, word FROM mesh_pending WHERE zone IN (\(ZoneTable.unwritable))"

  /// Returns the id of the last note of an insert or an update in a table, or 0 if there is none.
  func lastWrite(in table: Int64) throws -> Int64 {
    try sql.integer("SELECT max(id) FROM mesh_pending WHERE tbl = ? AND \(Self.isWrite)", [.integer(table)]) ?? 0
  }

  /// Returns the former key of a row that was inserted with this note because its key changed.
  func formerKey(_ note: Int64, in table: Int64) throws -> Value? {
    // The trigger of a new key notes the delete right before the insert.
    try sql.first(
      "SELECT key FROM mesh_pending WHERE id = ? AND tbl = ? AND op = ? AND word = ?",
      [.integer(note - 1), .integer(table), .integer(PendingSlice.Op.delete), .integer(PendingSlice.rekeyed)]
    ) { $0.value(0) }
  }

  /// Returns the id of the last note that inserted a key before another note.
  func insert(of key: Value, in table: Int64, before note: Int64) throws -> Int64? {
    try sql.integer(
      "SELECT max(id) FROM mesh_pending WHERE tbl = ? AND key = ? AND op = ? AND id < ?",
      [.integer(table), key, .integer(PendingSlice.Op.insert), .integer(note)])
  }

  /// Returns the zones that have notes.
  func zones() throws -> [Int64] {
    try sql.all("SELECT DISTINCT zone FROM mesh_pending WHERE zone > 0") { $0.integer(0) }
  }

  /// Returns the zone of the first note that belongs to one of the zones.
  func firstZone(of zones: [Int64]) throws -> Int64? {
    let list = zones.map { "\($0)" }.joined(separator: ", ")
    return try sql.integer("SELECT zone FROM mesh_pending WHERE zone IN (\(list)) ORDER BY id LIMIT 1")
  }

  // MARK: Visiting

  /// Visits the notes in the order of writing, until the closure returns false.
  ///
  /// - Parameter filter: The zone whose notes to visit, or 0 for all notes.
  func forEach(_ filter: Int64, _ visit: (Row) throws -> Bool) throws {
    try forEach(Self.all, visit) { $0.bind(filter, at: 1) }
  }

  /// Visits the notes after an id, in the order of writing.
  func forEach(after id: Int64, _ visit: (Row) throws -> Bool) throws {
    try forEach(Self.later, visit) { $0.bind(id, at: 1) }
  }

  /// Visits the notes of a table after an id, without former values.
  func forEach(of table: Int64, after id: Int64, _ visit: (Row) throws -> Bool) throws {
    try forEach(Self.ofTable, visit) { $0.bind([.integer(table), .integer(id)]) }
  }

  /// Visits the next notes whose zone is unknown.
  func forEachUnrouted(limit: Int, _ visit: (Row) throws -> Void) throws {
    try forEach(Self.unrouted) { row in
      try visit(row)
      return true
    } bind: {
      $0.bind([.count(limit)])
    }
  }

  /// Visits notes by their ids.
  ///
  /// - Parameter filter: The zone whose notes to visit, or 0 for all notes.
  func forEach(ids: [Int64], _ filter: Int64, _ visit: (Row) throws -> Bool) throws {
    let statement = try sql.statement(Self.one)
    for id in ids {
      statement.bind(id, at: 1)
      statement.bind(filter, at: 2)
      defer { statement.reset() }
      guard try statement.step() else { continue }
      guard try visit(Row(row: statement)) else { return }
    }
  }

  private func forEach(_ select: String, _ visit: (Row) throws -> Bool, bind: (PreparedStatement) -> Void) throws {
    let statement = try sql.statement(select)
    defer { statement.reset() }
    bind(statement)
    while try statement.step(), try visit(Row(row: statement)) {}
  }

  private static let all = "SELECT \(columns) FROM mesh_pending WHERE ?1 = 0 OR zone = ?1 ORDER BY id"
  private static let one = "SELECT \(columns) FROM mesh_pending WHERE id = ? AND (?2 = 0 OR zone = ?2)"
  private static let later = "SELECT \(columns) FROM mesh_pending WHERE id > ? ORDER BY id"
  private static let unrouted = "SELECT \(columns) FROM mesh_pending WHERE zone IS NULL ORDER BY id LIMIT ?"
  private static let ofTable =
    "SELECT \(columns) FROM mesh_pending WHERE tbl = ? AND op <> \(PendingSlice.Op.was) AND id > ? ORDER BY id"

  /// Returns the keys of a table's notes after an id, as they are spelled.
  func keys(of table: Int64, after id: Int64) throws -> [Value] {
    try sql.all("SELECT key FROM mesh_pending WHERE id > ? AND tbl = ?", [.integer(id), .integer(table)]) {
      $0.value(0)
    }
  }

  /// Returns the key of the first row of a table that was deleted after an id, at a time.
  func deletedKey(of table: Int64, after id: Int64, at wall: Int64) throws -> Value? {
    try sql.first(Self.deletedKey, [.integer(id), .integer(table), .integer(wall)]) { $0.value(0) }
  }

  private static let deletedKey =
    "SELECT coalesce(was, key) FROM mesh_pending WHERE id > ? AND tbl = ? AND op = \(PendingSlice.Op.delete) AND wall = ? ORDER BY id LIMIT 1"

  /// Returns the records that programs wrote, and those that leave a zone, with their keys as they are spelled.
  func written(besidesLooks zone: Int64) throws -> [RecordRef] {
    try sql.all(Self.written, [.integer(zone)]) { $0.ref(0) }
  }

  private static let written = """
    SELECT DISTINCT tbl, key FROM mesh_pending
    WHERE key IS NOT NULL AND op <> \(PendingSlice.Op.look) AND (op <> \(PendingSlice.Op.depart) OR abs(zone) = ?)
    """

  /// Returns the records that programs wrote and whose notes have no zone, with their keys as they are spelled.
  func unrouted() throws -> [RecordRef] {
    try sql.all(
      "SELECT DISTINCT tbl, key FROM mesh_pending WHERE zone IS NULL AND key IS NOT NULL AND op <> \(PendingSlice.Op.look)"
    ) { $0.ref(0) }
  }

  /// Returns the notes of a record that have a zone.
  func routed(_ ref: RecordRef) throws -> [Routed] { try sql.all(Self.ofRecord, ref.place, Self.routed) }

  /// The index `mesh_pending_routed` finds them.
  static let ofRecord =
    "SELECT id, op, zone, tbl, key FROM mesh_pending WHERE zone IS NOT NULL AND tbl = ? AND key = ?"

  /// Returns the notes of a zone.
  func routed(to zone: Int64, onlyArrivals: Bool) throws -> [Routed] {
    try sql.all(onlyArrivals ? Self.arriving : Self.ofZone, [.integer(zone)], Self.routed)
  }

  private static let ofZone = "SELECT id, op, zone, tbl, key, word FROM mesh_pending WHERE zone = ? AND key IS NOT NULL"
  private static let arriving = "\(ofZone) AND op = \(PendingSlice.Op.arrive)"

  /// Returns the next notes of zones that this device may not write.
  func forbidden(limit: Int) throws -> [Routed] {
    try sql.all("\(Self.forbidden) ORDER BY id LIMIT ?", [.count(limit)], Self.routed)
  }

  private static func routed(_ row: PreparedStatement) -> Routed {
    Routed(
      id: row.integer(0), op: row.integer(1), zone: row.integer(2), table: row.integer(3), key: row.value(4),
      word: row.integer(5))
  }

  // MARK: Noting

  /// Notes that an instance of a zone ends here, and that another file may have sent what is noted.
  func noteEnd(of author: Int64, in zone: Int64, sentThrough: Int64) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone, was)
      VALUES (0, 0, NULL, \(PendingSlice.Op.instance), 0, ?, 0, ?, ?)
      """, [.integer(author), .integer(zone), .integer(sentThrough)])
  }

  /// Returns the instances of a zone that ended while notes were pending that are still here, in their order.
  func formerInstances(in zone: Int64) throws -> [FormerInstance] {
    // The index `mesh_pending_routed` finds them.
    try sql.all(
      """
      SELECT id, mask, was FROM mesh_pending
      WHERE zone IS NOT NULL AND tbl = 0 AND key IS NULL AND op = \(PendingSlice.Op.instance) AND zone = ? ORDER BY id
      """, [.integer(zone)]
    ) { FormerInstance(id: $0.integer(0), author: $0.integer(1), sentThrough: $0.integer(2)) }
  }

  /// Returns the records and columns that have a noted value from before a write, and that belong to the zone or may
  /// belong to it.
  ///
  /// - Parameter note: The id of the first note not to look at.
  func overwritten(in zone: Int64, before note: Int64) throws -> [(ref: RecordRef, column: Int64)] {
    try sql.all(
      """
      SELECT DISTINCT tbl, key, word FROM mesh_pending
      WHERE op = \(PendingSlice.Op.was) AND key IS NOT NULL AND (zone IS NULL OR zone = ?) AND id < ?
      """, [.integer(zone), .integer(note)]
    ) { ($0.ref(0), $0.integer(2)) }
  }

  /// Notes what a trigger would note, or what the zones require.
  func note(
    _ ref: RecordRef, _ op: Int64, layout: Int64 = 0, word: Int64 = 0, mask: Int64 = 0, wall: Int64 = 0,
    zone: Int64? = nil, was: Value = .null
  ) throws {
    try sql.run(
      "INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone, was) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(ref.table), .integer(layout), ref.key, .integer(op), .integer(word), .integer(mask), .integer(wall),
        .optional(zone), was,
      ])
  }

  /// Makes the note of a record's arrival one that says nothing, because the arrival is written.
  func endArrival(_ ref: RecordRef, in zone: Int64) throws {
    try sql.run(
      """
      UPDATE mesh_pending SET op = \(PendingSlice.Op.look), word = 0
      WHERE zone IS NOT NULL AND tbl = ? AND key = ? AND zone = ? AND op = \(PendingSlice.Op.arrive)
      """, ref.place + [.integer(zone)])
  }

  /// Notes that a record arrives in a zone in which it is already. Its lost parts continue there.
  func noteArrival(_ ref: RecordRef, within zone: Int64) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      SELECT ?1, 0, ?2, \(PendingSlice.Op.arrive), ?3, 0, 0, ?3 WHERE NOT EXISTS (
        SELECT 1 FROM mesh_pending WHERE tbl = ?1 AND key = ?2 AND op = \(PendingSlice.Op.arrive) AND zone = ?3)
      """, ref.place(in: zone))
  }

  /// Requests a look at the rows that refer to a row.
  ///
  /// - Parameter column: The number of the referring column in its table.
  func lookAtRows(of child: TableForm, referringBy column: Int, to key: Value) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall)
      SELECT \(child.id), 0, \(child.keyName.quotedName), \(PendingSlice.Op.look), 0, 0, 0
      FROM main.\(child.schema.name.quotedName) WHERE \(child.columns[column].name.quotedName) = ?
      """, [key])
  }

  /// Requests a look at the held records of a zone.
  func lookAtHeld(in zone: Int64) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall)
      SELECT tbl, 0, key, \(PendingSlice.Op.look), 0, 0, 0 FROM mesh_record
      WHERE zone = ? AND extra IS NOT NULL AND held IS NOT NULL
      """, [.integer(zone)])
  }

  /// Notes that a table continues the records of another one, in the zones that this device may write.
  ///
  /// - Parameter isComplete: Whether the rows that the table lacks were deleted.
  func noteAdoption(by table: Int64, of former: Int64, isComplete: Bool) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      SELECT ?1, 0, key, \(PendingSlice.Op.adopt), ?2, ?3, 0, zone FROM mesh_record r
      WHERE tbl = ?2 AND zone IN (\(ZoneTable.writable)) AND \(Self.isNotElsewhere)
      """, [.integer(table), .integer(former), .integer(isComplete ? 1 : 0)])
  }

  /// Notes that a table continues what arrived under its former name. Does nothing if it adopts records already.
  func noteFormerValues(of table: Int64) throws {
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      SELECT ?1, 0, key, \(PendingSlice.Op.adopt), tbl, \(PendingSlice.adoptedBefore), 0, zone FROM mesh_record r
      WHERE tbl = (SELECT origin FROM mesh_table WHERE id = ?1)
        AND zone IN (\(ZoneTable.writable)) AND \(Self.isNotElsewhere)
        AND NOT EXISTS (SELECT 1 FROM mesh_pending WHERE tbl = ?1 AND op = \(PendingSlice.Op.adopt))
      """, [.integer(table)])
  }

  /// The condition on `mesh_record` as `r` that the record has not moved to another zone. A record that has moved says
  /// nothing about the row.
  private static let isNotElsewhere = """
    (generation & 1 OR NOT EXISTS (
      SELECT 1 FROM mesh_record o WHERE o.tbl = r.tbl AND o.key = r.key AND o.zone <> r.zone AND o.generation & 1))
    """

  /// Notes writes to columns that the triggers didn't know.
  ///
  /// If a later statement wrote a row alone, this notes an edit of all these columns. If a row was written several
  /// times, its new columns may have been set back to their defaults. This notes them as filled by a migration, unless
  /// the edit tells that the only new column was written.
  func noteTouches(of table: Int64, before: Int64, layout: Int64, word: Int, mask: Int64, isOnly: Bool) throws {
    let arguments: [Value] = [
      .integer(table), .integer(before), .integer(layout), .count(word), .integer(mask),
    ]
    try sql.run("\(Self.touched("max(wall)")) HAVING \(Self.isEdited)", arguments)
    // An update that changes no column that the triggers knew is noted with the mask 0.
    let isTold = isOnly ? "\(Self.isEdited) AND max(id) IN (SELECT id FROM touch WHERE mask = 0)" : "false"
    try sql.run(
      "\(Self.touched("\(PendingSlice.migrated)")) HAVING count(*) > 1 AND NOT (\(isTold))", arguments)
  }

  private static func touched(_ wall: String) -> String {
    """
    WITH touch AS (
      SELECT id, key, wall, mask FROM mesh_pending WHERE tbl = ?1 AND layout = ?2 AND op = \(PendingSlice.Op.update)
        AND id >= (SELECT min(id) FROM mesh_pending WHERE tbl = ?1 AND layout = ?2 AND op = \(PendingSlice.Op.update) AND mask = 0))
    INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall)
    SELECT ?1, ?3, key, \(PendingSlice.Op.update), ?4, ?5, \(wall) FROM touch GROUP BY key
    """
  }

  /// Returns the columns whose values are not flushed under their new names.
  func renamedColumns(of table: Int64) throws -> Set<Int64> {
    let masks = try sql.all(
      """
      SELECT DISTINCT layout, word, mask FROM mesh_pending
      WHERE tbl = ? AND op = \(PendingSlice.Op.update) AND wall = \(PendingSlice.renamed)
      """, [.integer(table)]
    ) { (layout: $0.integer(0), word: $0.integer(1), mask: $0.integer(2)) }
    return try masks.reduce(into: []) { columns, mask in
      let layout = try NameTable(sql: sql).layout(mask.layout)
      columns.formUnion(NotedColumns.columns(of: layout, word: mask.word, mask: mask.mask))
    }
  }

  private static let isEdited =
    "count(DISTINCT wall) > 1 AND max(wall) IN (SELECT wall FROM touch GROUP BY wall HAVING count(*) = 1)"

  /// Marks the first insert into a table after an id as that of a restored record.
  func markRestored(_ table: Int64, after id: Int64) throws {
    try sql.run(
      """
      UPDATE mesh_pending SET word = \(PendingSlice.restored)
      WHERE id = (SELECT min(id) FROM mesh_pending WHERE id > ? AND tbl = ? AND op = \(PendingSlice.Op.insert))
      """, [.integer(id), .integer(table)])
  }

  // MARK: Routing

  /// Assigns notes of a record to a zone.
  ///
  /// - Parameter key: The record's key in canonical form. From now on, the notes are found by it. A delete keeps the
  ///   spelling of its row's key, because rows that referred to it may have had the same spelling.
  func assign(_ ids: [Int64], _ zone: Int64, key: Value) throws {
    for id in ids {
      try sql.run(
        """
        UPDATE mesh_pending SET zone = ?, key = ?,
          was = iif(op = \(PendingSlice.Op.delete), coalesce(was, key), was) WHERE id = ?
        """, [.integer(zone), key, .integer(id)])
    }
  }

  /// Makes notes be routed again.
  func unassign(_ ids: [Int64]) throws {
    for id in ids { try sql.run("UPDATE mesh_pending SET zone = NULL WHERE id = ?", [.integer(id)]) }
  }

  /// Makes the departures of moved records visible to the next flush.
  func beginDepartures() throws { try sql.run("UPDATE mesh_pending SET zone = -zone WHERE zone < 0") }

  // MARK: Removing

  /// - Parameter filter: The zone whose notes to remove, or 0 for all notes.
  func remove(_ ids: [Int64], _ filter: Int64 = 0) throws {
    for id in ids {
      try sql.run(
        "DELETE FROM mesh_pending WHERE id = ?1 AND (?2 = 0 OR zone = ?2)", [.integer(id), .integer(filter)])
    }
  }

  /// - Parameter filter: The zone whose notes to remove, or 0 for all notes.
  func remove(through last: Int64, _ filter: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_pending WHERE id <= ?1 AND (?2 = 0 OR zone = ?2)", [.integer(last), .integer(filter)])
  }

  func removeFirst(_ count: Int, of zone: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_pending WHERE id IN (SELECT id FROM mesh_pending WHERE zone = ? ORDER BY id LIMIT ?)",
      [.integer(zone), .count(count)])
  }

  /// Removes the notes of a zone that is dropped. Returns false if there are none.
  ///
  /// - Parameter keepingCopy: True to route the writes again. They belong to the private zone once the records are gone.
  func removeAll(of zone: Int64, keepingCopy: Bool) throws -> Bool {
    guard try sql.exists("SELECT 1 FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)]) else { return false }
    if keepingCopy {
      try sql.run(
        "DELETE FROM mesh_pending WHERE abs(zone) = ? AND op IN (\(PendingSlice.Op.depart), \(PendingSlice.Op.arrive))",
        [.integer(zone)])
      try sql.run("UPDATE mesh_pending SET zone = NULL WHERE zone = ?", [.integer(zone)])
    } else {
      try sql.run("DELETE FROM mesh_pending WHERE abs(zone) = ?", [.integer(zone)])
    }
    return true
  }

  /// Removes the notes of rows that were written and not flushed when their table was dropped. Rows that were deleted
  /// before stay deleted, unless they were written again.
  ///
  /// - Parameter here: The app's table of the same name, if there is one. The notes of its rows stay.
  func removeLost(_ table: Int64, here: RecordTable.Here?) throws {
    let isLost =
      here.map {
        "NOT EXISTS (SELECT 1 FROM main.\($0.name.quotedName) AS t WHERE t.\($0.key.quotedName) = mesh_pending.key)"
      } ?? "true"
    try sql.run(
      """
      DELETE FROM mesh_pending WHERE tbl = ?1 AND \(isLost) AND (op <> \(PendingSlice.Op.delete) OR key IN (
        SELECT key FROM mesh_pending WHERE tbl = ?1 GROUP BY key
        HAVING max(iif(op = \(PendingSlice.Op.insert), id, 0)) > max(iif(op = \(PendingSlice.Op.delete), id, 0))))
      """, [.integer(table)])
  }

  // MARK: Sorting

  /// Replaces the run by the notes up to an id, sorted by record. Tables come in the order of their first notes.
  ///
  /// - Parameter filter: The zone whose notes to sort, or 0 for all notes.
  func sortRun(through last: Int64, _ filter: Int64) throws {
    try sql.run(Self.run)
    try clearRun()
    let hasSeveralTables = try sql.exists(
      "SELECT 1 FROM main.mesh_pending WHERE id <= ? AND tbl <> (SELECT tbl FROM main.mesh_pending ORDER BY id LIMIT 1)",
      [.integer(last)])
    try sql.run(hasSeveralTables ? Self.fill : Self.fillOfOne, [.integer(last), .integer(filter)])
  }

  func clearRun() throws { try sql.run("DELETE FROM temp.mesh_run") }

  /// Visits the notes of the run after a number of them, until the closure returns false.
  func forEachOfRun(after count: Int64, _ visit: (Row) throws -> Bool) throws {
    try forEach(Self.rest, visit) { $0.bind(count, at: 1) }
  }

  private static let rest = "SELECT \(columns) FROM temp.mesh_run WHERE place > ? ORDER BY place"

  private static let run = """
    CREATE TEMP TABLE IF NOT EXISTS mesh_run (
      place INTEGER PRIMARY KEY,                  -- from 1
      id, tbl, layout, key, op, word, mask, wall, was  -- as in mesh_pending
    )
    """

  /// Sorts in half the time, because SQLite compares leading texts without unpacking the rest.
  private static let fillOfOne = "\(into) WHERE id <= ?1 AND (?2 = 0 OR zone = ?2) ORDER BY key, id"

  private static let fill = """
    \(into) CROSS JOIN (SELECT tbl AS known, min(id) AS first FROM main.mesh_pending WHERE id <= ?1 GROUP BY tbl) ON known = tbl
    WHERE id <= ?1 AND (?2 = 0 OR zone = ?2) ORDER BY first, key, id
    """

  private static let into = "INSERT INTO temp.mesh_run (\(columns)) SELECT \(columns) FROM main.mesh_pending"
}

// MARK: - Records with writes at or below them

extension PendingTable {
  /// Collects in `mesh_written` the records that programs inserted or updated, and the records above them by references
  /// with `ON DELETE CASCADE`, each with the last note.
  func collectWritten(_ tables: some Sequence<TableForm>) throws {
    let children = tables.filter { table in table.isHere && table.references.contains { $0.action == .cascade } }
    let ids = children.map { "\($0.id)" }.joined(separator: ", ")
    let steps = children.flatMap { child in
      child.references.filter { $0.action == .cascade }.map { reference in
        let (name, key) = (child.schema.name.quotedName, child.keyName.quotedName)
        let column = child.columns[reference.column].name.quotedName
        return """
          UNION SELECT \(reference.parent), t.\(column), written.note FROM written CROSS JOIN main.\(name) AS t
          WHERE written.tbl = \(child.id) AND t.\(key) = written.key AND t.\(column) NOTNULL
          """
      }
    }
    try sql.run(
      "CREATE TEMP TABLE IF NOT EXISTS mesh_written (tbl, key, note, PRIMARY KEY (tbl, key)) WITHOUT ROWID")
    try sql.run("DELETE FROM temp.mesh_written")
    try sql.run(
      """
      WITH RECURSIVE written (tbl, key, note) AS (
        SELECT tbl, key, max(id) FROM main.mesh_pending
        WHERE tbl IN (\(ids)) AND \(Self.isWrite) AND key NOTNULL GROUP BY tbl, key
        \(steps.joined(separator: "\n")))
      INSERT INTO temp.mesh_written SELECT tbl, key, max(note) FROM written GROUP BY tbl, key
      """)
  }

  /// Returns a condition for a row of a table: it is in `mesh_written` with a later note than the parameter.
  static func isWritten(_ table: TableForm) -> String {
    """
    EXISTS (
      SELECT 1 FROM temp.mesh_written AS mesh_w WHERE mesh_w.tbl = \(table.id) AND mesh_w.note > ?
      AND main.\(table.schema.name.quotedName).\(table.keyName.quotedName) = mesh_w.key)
    """
  }

  private static let isWrite = "op IN (\(PendingSlice.Op.insert), \(PendingSlice.Op.update))"
}
