import GRDB
public import MeshCore

// MARK: - What a person wants to know

extension Store {
  public struct Status: Hashable, Sendable {
    /// Rows in the pending log.
    public var pending: Int
    /// Records that live and are not shown, by reason.
    public var held: [HeldReason: Int]
    /// Live records by zone.
    public var records: [ZoneID: Int]
    /// Losing values that are kept.
    public var conflicts: Int
    /// Why an author's change sets can never be merged.
    public var malformed: [Author: String]
  }

  public func status() throws -> Status {
    try read { session in
      let sql = session.sql
      let zones = try sql.all("SELECT zone, live FROM mesh_zone") { (ZoneID($0.bytes(0)), Int($0.integer(1))) }
      let counts = try session.heldCounts()
      var malformed: [Author: String] = [:]
      for (author, reason) in try session.catalog.heads.malformed() {
        malformed[try session.catalog.author(author)] = reason
      }
      return Status(
        pending: Int(try sql.integer("SELECT count(*) FROM mesh_pending") ?? 0), held: counts,
        records: Dictionary(
          zones.compactMap { zone, live in zone.map { ($0, live) } }, uniquingKeysWith: { first, _ in first }),
        conflicts: Int(try sql.integer("SELECT count(*) FROM mesh_conflict") ?? 0), malformed: malformed)
    }
  }

  /// Rows with a value that is longer than any that is sent. Reads the records with a message only.
  public func tooLongCount() throws -> Int { try noted(.valueTooLong) }

  /// Records whose rows are older than what is merged, since their tables refuse that.
  public func refusedCount() throws -> Int { try noted(.editRefused) }

  private func noted(_ reason: HeldReason) throws -> Int {
    try read { session in
      Int(
        try session.sql.integer(
          "SELECT count(*) FROM mesh_held WHERE reason = ? AND tbl NOT IN (\(Self.untracked))",
          [.integer(reason.rawValue)]) ?? 0)
    }
  }

  /// Tables that were synchronized here till somebody said no: of their records nothing is missed.
  static let untracked = "SELECT id FROM mesh_table WHERE tracked = 0 AND layout IS NOT NULL"

  /// Triggers of an app's that have written to synchronized tables while merged rows were written, since the start, and the
  /// table: what they wrote was taken back.
  public func intrudingTriggers() throws -> [String: String] {
    try read { session in
      Dictionary(session.sql.intruders.map { ($0.trigger, $0.table) }, uniquingKeysWith: min)
    }
  }

  /// How many live records are not shown, by the reason's displayed word.
  public func heldCounts() throws -> [String: Int] {
    var counts = Dictionary(try status().held.map { ($0.key.name, $0.value) }, uniquingKeysWith: +)
    let rewrites = try read { Int(try $0.sql.integer("SELECT count(*) FROM mesh_rewrite") ?? 0) }
    if rewrites > 0 { counts["to-write-again"] = rewrites }
    return counts
  }

  // MARK: The file

  /// `PRAGMA data_version`: another number after another connection has committed.
  public func dataVersion() throws -> Int { try read { try $0.dataVersion() } }

  /// Copies the WAL into the database.
  ///
  /// - Parameter truncate: Empties the WAL as well; waits for readers until the time-out of a busy database.
  /// - Returns: False where readers or writers kept it from being complete.
  @discardableResult
  public func checkpoint(truncate: Bool) throws -> Bool {
    try checkpoint(truncate ? .truncate : .passive)
  }
}

extension Session {
  func dataVersion() throws -> Int { Int(try sql.integer("PRAGMA main.data_version") ?? 0) }
}
