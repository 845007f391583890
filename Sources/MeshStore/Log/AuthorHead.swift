import MeshCore

/// One row of `mesh_head`: how far an author's change sets are here, and merged.
struct AuthorHead {
  let author: Int64
  var stored: UInt64 = 0
  var storedID: ChangeSetID?
  var storedTime = HybridTime.zero
  /// Part index that the next one must have.
  var storedPart: UInt64 = 0
  /// Bytes stored and not merged.
  var waiting: Int64 = 0
  /// Always the end of a unit.
  var merged: UInt64 = 0
  var mergedID: ChangeSetID?
  var mergedTime = HybridTime.zero
  /// Beyond `merged` inside a unit that is merged slice by slice.
  var applied: UInt64 = 0
  /// Of the change set after `applied`.
  var appliedRows: Int64 = 0
  /// What the author had merged at `applied`.
  var context = CausalContext()
  /// Where a cut that is begun and not done ends the author.
  var cut: UInt64?
  var malformed: String?
  /// What the first change set cites, whatever became of it since.
  var citation: ControlID?

  init(author: Int64) { self.author = author }

  /// A unit is merged in part.
  var isInsideUnit: Bool { applied > merged || appliedRows > 0 }

  var mergedHead: ChangeSetHead? {
    mergedID.map { ChangeSetHead(number: merged, id: $0, time: mergedTime) }
  }

  private static let columns = """
    author, stored, stored_id, stored_time, stored_part, waiting, merged, merged_id, merged_time, applied, applied_rows, \
    context, cut, malformed, citation
    """

  private init(_ row: Statement) throws {
    author = row.integer(0)
    stored = row.bits(1)
    storedID = row.optionalBytes(2).flatMap(ChangeSetID.init)
    storedTime = HybridTime(row.bits(3))
    storedPart = row.bits(4)
    waiting = row.integer(5)
    merged = row.bits(6)
    mergedID = row.optionalBytes(7).flatMap(ChangeSetID.init)
    mergedTime = HybridTime(row.bits(8))
    applied = row.bits(9)
    appliedRows = row.integer(10)
    if let bytes = row.optionalBytes(11) {
      var reader = ByteReader(bytes)
      context = try CausalContext(from: &reader)
    }
    cut = row.optional(12).map { UInt64(bitPattern: $0) }
    malformed = row.isNull(13) ? nil : row.text(13)
    citation = row.optionalBytes(14).flatMap(ControlID.init)
  }

  static func all(_ sql: Connection, zone: Int64) throws -> [AuthorHead] {
    try sql.all("SELECT \(columns) FROM mesh_head WHERE zone = ? ORDER BY author", [.integer(zone)], AuthorHead.init)
  }

  /// A head at zero where the author has none.
  static func read(_ sql: Connection, zone: Int64, author: Int64) throws -> AuthorHead {
    let found = try sql.first(
      "SELECT \(columns) FROM mesh_head WHERE zone = ? AND author = ?", [.integer(zone), .integer(author)],
      AuthorHead.init)
    return found ?? AuthorHead(author: author)
  }

  func save(_ sql: Connection, zone: Int64) throws {
    var writer = ByteWriter()
    context.write(to: &writer)
    try sql.run(
      """
      INSERT OR REPLACE INTO mesh_head (zone, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(zone), .integer(author), .bits(stored), .optional(storedID?.bytes), .bits(storedTime.value),
        .bits(storedPart), .integer(waiting), .bits(merged), .optional(mergedID?.bytes), .bits(mergedTime.value),
        .bits(applied), .integer(appliedRows), .blob(writer.bytes), .optional(cut.map { Int64(bitPattern: $0) }),
        malformed.map { Value.text($0) } ?? .null, .optional(citation?.bytes),
      ])
  }
}
