import CSQLite

/// The SQLite in this process.
public struct SQLiteLibrary: Hashable, Sendable {
  /// 3.40.1 is 3040001.
  public let number: Int32

  public static var loaded: SQLiteLibrary { SQLiteLibrary(number: sqlite3_libversion_number()) }

  public init(number: Int32) { self.number = number }

  /// `3.40.1`.
  public var version: String { "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)" }

  /// Has SQLite not count the memory of the whole process, for which every allocation takes a lock. For a program that is a node
  /// and nothing else, before it opens a database; later it does nothing.
  public static func leaveMemoryUncounted() { _ = mesh_sqlite3_set_memory_statistics(0) }

  /// Whether commits can be lost when one process begins the write-ahead log anew while another checkpoints it.
  public var losesCommitsOnReset: Bool {
    switch number {
    case ..<3_007_000: false
    case 3_044_006..<3_045_000, 3_050_007..<3_051_000: false
    default: number < 3_051_003
    }
  }
}
