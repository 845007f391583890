/// The reasons that the primary keys of a database can't be migrated.
///
/// The database is unchanged. The error lists every problem that you have to fix first.
public struct PrimaryKeyMigrationError: Error, Equatable, CustomStringConvertible {
  /// A reason, with its remedy.
  public struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The table, or nil if the problem isn't about one table.
    public let table: String?
    /// The problem.
    public let problem: String
    /// The remedy.
    public let remedy: String

    public var description: String { "\(table.map { "\($0): " } ?? "")\(problem)\n  \(remedy)" }
  }

  /// The reasons in the order of the tables.
  public let violations: [Violation]

  public var description: String {
    "can't migrate the primary keys, and nothing has changed:\n\n"
      + violations.map(\.description).joined(separator: "\n\n")
  }
}
