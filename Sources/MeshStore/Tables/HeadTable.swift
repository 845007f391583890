import MeshCore

/// The rows of `mesh_head`: the numbers up to which each author's change sets are stored and merged.
///
/// The rows are kept in memory, because every message needs some of them. An author's causal context has an entry for each
/// author, so it is read from the file when it is needed.
final class HeadTable {
  private let sql: Connection
  /// The rows of each zone, by `mesh_zone.id`.
  private var zones: [Int64: Zone] = [:]

  fileprivate struct Zone {
    /// The rows, sorted by author.
    var heads: [AuthorHead] = []
    /// The authors with stored change sets that are not merged, ascending.
    var unmerged: [Int64] = []
    /// The authors among them with a unit that is merged in part.
    var begun: Set<Int64> = []
    /// The number of authors with stored change sets.
    var stored = 0
  }

  init(_ sql: Connection) { self.sql = sql }

  /// Forgets the rows. Call it when a transaction is rolled back, and when rows are removed in another way than here.
  func forget() { zones = [:] }

  private static let columns = """
    author, stored, stored_id, stored_time, stored_part, waiting, merged, merged_id, merged_time, applied, applied_rows, \
    cut, malformed, citation
    """

  // MARK: Reading

  /// Returns the rows of a zone, sorted by author.
  func all(_ zone: Int64) throws -> [AuthorHead] { try read(zone).heads }

  /// Returns the number of authors with stored change sets.
  func storedCount(_ zone: Int64) throws -> Int { try read(zone).stored }

  /// Returns the authors that have change sets to merge, ascending.
  func unmerged(_ zone: Int64) throws -> [Int64] { try read(zone).unmerged }

  /// Returns the authors with a unit that is merged in part, if more of it is stored, ascending.
  func begun(_ zone: Int64) throws -> [Int64] { try read(zone).begun.sorted() }

  private func read(_ zone: Int64) throws -> Zone {
    if let known = zones[zone] { return known }
    let heads = try sql.all(
      "SELECT \(Self.columns) FROM mesh_head WHERE zone = ? ORDER BY author", [.integer(zone)], AuthorHead.init)
    let read = Zone(
      heads: heads, unmerged: heads.filter(\.isUnmerged).map(\.author),
      begun: Set(heads.filter(\.isBegun).map(\.author)), stored: heads.count { $0.stored > 0 })
    zones[zone] = read
    return read
  }

  /// Returns an author's row, or nil if it has none.
  func find(_ author: Int64, _ zone: Int64) throws -> AuthorHead? {
    let heads = try all(zone)
    let index = Self.place(of: author, heads.count) { heads[$0].author }
    return index < heads.count && heads[index].author == author ? heads[index] : nil
  }

  /// Returns an author's row. If it has none, all numbers are zero.
  func of(_ author: Int64, _ zone: Int64) throws -> AuthorHead { try find(author, zone) ?? AuthorHead(author: author) }

  /// Returns the place of the first of `count` authors that is not below `author`.
  fileprivate static func place(of author: Int64, _ count: Int, _ at: (Int) -> Int64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = low + (high - low) / 2
      if at(middle) < author { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the causal context of the author's change set `applied`.
  func context(of author: Int64, _ zone: Int64) throws -> CausalContext {
    let bytes = try sql.first(
      "SELECT context FROM mesh_head WHERE zone = ? AND author = ?", [.integer(zone), .integer(author)]
    ) { $0.optionalBytes(0) }
    guard let bytes = bytes.flatMap({ $0 }) else { return CausalContext() }
    var reader = ByteReader(bytes)
    return try CausalContext(from: &reader)
  }

  /// Returns the bytes that are stored and not merged for each device, over all zones.
  func waiting() throws -> [DeviceID: Int64] {
    let waiting = try sql.all(
      """
      SELECT device, sum(waiting) FROM mesh_head JOIN mesh_author ON mesh_author.id = mesh_head.author
      WHERE waiting > 0 GROUP BY device
      """
    ) { (DeviceID($0.bytes(0)), $0.integer(1)) }
    return Dictionary(
      waiting.compactMap { device, bytes in device.map { ($0, bytes) } }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the reasons why authors' change sets can never be merged, in all zones.
  func malformed() throws -> [Int64: String] {
    let stuck = try sql.all("SELECT author, malformed FROM mesh_head WHERE malformed IS NOT NULL") {
      ($0.integer(0), $0.text(1))
    }
    return Dictionary(stuck, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Writing

  /// Saves an author's row.
  ///
  /// - Parameter context: The author's new causal context, or nil if it doesn't change.
  func save(_ head: AuthorHead, context: CausalContext? = nil, _ zone: Int64) throws {
    var known = try read(zone)
    let bytes = context.map { context in
      var writer = ByteWriter()
      context.write(to: &writer)
      return writer.bytes
    }
    try sql.run(
      """
      INSERT INTO mesh_head (zone, \(Self.columns), context) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (zone, author) DO UPDATE SET stored = excluded.stored, stored_id = excluded.stored_id,
        stored_time = excluded.stored_time, stored_part = excluded.stored_part, waiting = excluded.waiting,
        merged = excluded.merged, merged_id = excluded.merged_id, merged_time = excluded.merged_time,
        applied = excluded.applied, applied_rows = excluded.applied_rows, cut = excluded.cut,
        malformed = excluded.malformed, citation = excluded.citation,
        context = coalesce(excluded.context, context)
      """,
      [
        .integer(zone), .integer(head.author), .bits(head.stored), .optional(head.storedID?.bytes),
        .bits(head.storedTime.value), .bits(head.storedPart), .integer(head.waiting), .bits(head.merged),
        .optional(head.mergedID?.bytes), .bits(head.mergedTime.value), .bits(head.applied),
        .integer(head.appliedRows), .optional(head.revertsAbove.map { Int64(bitPattern: $0) }),
        head.malformed.map { Value.text($0) } ?? .null, .optional(head.citation?.bytes), .optional(bytes),
      ])
    // Otherwise the arrays are copied.
    zones[zone] = nil
    known.set(head)
    zones[zone] = known
  }

  /// Removes the rows of a zone.
  func remove(_ zone: Int64) throws {
    try sql.run("DELETE FROM mesh_head WHERE zone = ?", [.integer(zone)])
    zones[zone] = nil
  }
}

extension HeadTable.Zone {
  fileprivate mutating func set(_ head: AuthorHead) {
    let index = HeadTable.place(of: head.author, heads.count) { heads[$0].author }
    let former = index < heads.count && heads[index].author == head.author ? heads[index] : nil
    if former == nil { heads.insert(head, at: index) } else { heads[index] = head }
    stored += (head.stored > 0 ? 1 : 0) - (former?.stored ?? 0 > 0 ? 1 : 0)
    if head.isBegun { begun.insert(head.author) } else { begun.remove(head.author) }
    guard head.isUnmerged != former?.isUnmerged ?? false else { return }
    let place = HeadTable.place(of: head.author, unmerged.count) { unmerged[$0] }
    if head.isUnmerged { unmerged.insert(head.author, at: place) } else { unmerged.remove(at: place) }
  }
}

extension AuthorHead {
  /// Whether change sets are stored that are not merged.
  fileprivate var isUnmerged: Bool { stored > applied }
  fileprivate var isBegun: Bool { isUnmerged && isInsideUnit }

  fileprivate init(_ row: PreparedStatement) {
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
    revertsAbove = row.optional(11).map { UInt64(bitPattern: $0) }
    malformed = row.isNull(12) ? nil : row.text(12)
    citation = row.optionalBytes(13).flatMap(ControlID.init)
  }
}
