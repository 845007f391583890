import CSQLite

/// Measures what SQLite alone takes for work that mesh cannot avoid: a note of each write, and a state of each record.
/// A floor says how close to plain SQLite a node could come at best.
struct Floors {
  let workshop: Workshop

  /// The columns of the notes are those of `mesh_pending`.
  private static let notes = """
    CREATE TABLE notes (
      id INTEGER PRIMARY KEY, tbl INTEGER, layout INTEGER, key, op INTEGER, word INTEGER, mask INTEGER, wall INTEGER,
      zone INTEGER, was);
    CREATE TRIGGER noteInsert AFTER INSERT ON items BEGIN \(note(1)); END;
    CREATE TRIGGER noteUpdate AFTER UPDATE ON items BEGIN \(note(2)); END
    """
  /// The columns of a record's state are those of `mesh_record`.
  private static let states = """
    CREATE TABLE states (
      tbl INTEGER, key, zone INTEGER, generation INTEGER, hash BLOB, stamps BLOB, extra BLOB, held INTEGER,
      PRIMARY KEY (tbl, key, zone)) WITHOUT ROWID
    """
  /// A hash has 16 bytes. The stamps of a new row have about 12.
  private static let state = "INSERT INTO states VALUES (1, ?, 1, 1, zeroblob(16), zeroblob(12), NULL, NULL)"
  private static let reading = """
    SELECT items.id, name, status, note, qty, price FROM notes JOIN items ON items.id = notes.key ORDER BY notes.key
    """

  private static func note(_ operation: Int) -> String {
    """
    INSERT INTO notes (tbl, layout, key, op, word, mask, wall) VALUES
      (1, 1, NEW.id, \(operation), 0, 0, CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
    """
  }

  /// Returns an empty database with the table of `Items`, and a trigger for each kind of write that writes one note.
  func notedDatabase() throws -> Database {
    let database = try workshop.plainDatabase()
    try database.run(Self.notes)
    return database
  }

  /// Returns what one process takes to copy the rows of noted inserts into a second file. It reads the notes and their
  /// rows, writes a state of each record into both files, and removes the notes.
  func copying(_ items: Items) throws -> (time: Double, work: Double) {
    let source = try notedDatabase()
    let target = try workshop.plainDatabase()
    for database in [source, target] { try database.run(Self.states) }
    try items.insertAll(source)
    return try Machine.cost {
      for database in [source, target] { try database.run("BEGIN IMMEDIATE") }
      try copy(from: source, to: target)
      try source.run("DELETE FROM notes")
      for database in [source, target] { try database.run("COMMIT") }
    }
  }

  private func copy(from source: Database, to target: Database) throws {
    let reading = try Prepared(source, Self.reading)
    let insertion = try Prepared(target, Items.insertion)
    let states = [try Prepared(source, Self.state), try Prepared(target, Self.state)]
    while try reading.step() {
      for column in 0..<sqlite3_column_count(reading.handle) {
        sqlite3_bind_value(insertion.handle, column + 1, sqlite3_column_value(reading.handle, column))
      }
      try insertion.execute()
      for state in states {
        sqlite3_bind_value(state.handle, 1, sqlite3_column_value(reading.handle, 0))
        try state.execute()
      }
    }
  }
}
