import CSQLite

/// The rows that are written. They have six columns, about 80 bytes of content, and random UUIDs as text for keys. They
/// are created before any clock starts, in one block of memory that SQLite reads without a copy.
final class Items {
  static let schema = """
    CREATE TABLE items (
      id TEXT PRIMARY KEY NOT NULL, name TEXT, status TEXT, note TEXT, qty INTEGER, price REAL)
    """
  static let insertion = "INSERT INTO items (id, name, status, note, qty, price) VALUES (?, ?, ?, ?, ?, ?)"
  static let updating = "UPDATE items SET status = ? WHERE id = ?"

  let count: Int
  private let text: UnsafeMutablePointer<CChar>
  private let stride = Items.keySize + Items.nameSize + Items.statusSize + Items.noteSize

  private static let keySize = 36
  private static let nameSize = 14
  private static let statusSize = 6
  private static let noteSize = 40

  init(_ count: Int) {
    self.count = count
    text = .allocate(capacity: count * stride)
    var generator = SystemRandomNumberGenerator()
    for index in 0..<count { fill(text + index * stride, &generator) }
  }

  deinit { text.deallocate() }

  private func fill(_ row: UnsafeMutablePointer<CChar>, _ generator: inout SystemRandomNumberGenerator) {
    let hexadecimal = Array("0123456789abcdef".utf8CString)
    var bits = (generator.next(), generator.next())
    for place in 0..<Self.keySize {
      if [8, 13, 18, 23].contains(place) {
        row[place] = CChar(UInt8(ascii: "-"))
        continue
      }
      row[place] = hexadecimal[Int(bits.0 & 15)]
      bits = (bits.0 >> 4 | bits.1 << 60, bits.1 >> 4)
    }
    for place in Self.keySize..<stride { row[place] = CChar(97 + UInt8.random(in: 0..<26, using: &generator)) }
  }

  func key(_ index: Int) -> String {
    String(decoding: UnsafeRawBufferPointer(start: text + index * stride, count: Self.keySize), as: UTF8.self)
  }

  /// Inserts some of the rows with a statement of `insertion`.
  func insert(_ range: Range<Int>, _ statement: Prepared) throws {
    for index in range {
      var start = text + index * stride
      for (column, size) in [Self.keySize, Self.nameSize, Self.statusSize, Self.noteSize].enumerated() {
        // The value nil is SQLITE_STATIC: the block outlives the statement's run.
        sqlite3_bind_text(statement.handle, Int32(column + 1), start, Int32(size), nil)
        start += size
      }
      sqlite3_bind_int64(statement.handle, 5, Int64(index % 1_000))
      sqlite3_bind_double(statement.handle, 6, Double(index) * 0.25)
      try statement.execute()
    }
  }

  /// Updates one column of some rows with a statement of `updating`.
  func update(_ range: Range<Int>, to status: String, _ statement: Prepared) throws {
    for index in range {
      statement.bind(status, at: 1)
      sqlite3_bind_text(statement.handle, 2, text + index * stride, Int32(Self.keySize), nil)
      try statement.execute()
    }
  }

  /// Inserts new rows in several transactions, so that they aren't one huge unit.
  static func insert(_ rows: Int, _ database: Database) throws {
    let batch = 100_000
    for start in Swift.stride(from: 0, to: rows, by: batch) { try Items(min(batch, rows - start)).insertAll(database) }
  }

  /// Inserts all rows in one transaction.
  func insertAll(_ database: Database) throws {
    let statement = try Prepared(database, Self.insertion)
    try database.run("BEGIN IMMEDIATE")
    try insert(0..<count, statement)
    try database.run("COMMIT")
  }
}
