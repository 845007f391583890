/// The reasons why the primary keys of a database can't be migrated.
///
/// Nothing has changed in the database. The error lists everything that has to be mended first.
public struct PrimaryKeyMigrationError: Error, Equatable, CustomStringConvertible {
  /// A reason, and what to do about it.
  public struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The table that is concerned, if it is one.
    public let table: String?
    /// What is wrong.
    public let problem: String
    /// What to do about it.
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
