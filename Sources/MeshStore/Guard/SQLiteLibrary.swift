import CSQLite

/// The SQLite library in this process.
package struct SQLiteLibrary: Hashable, Sendable {
  /// The version as a number: 3.40.1 is 3040001.
  package let number: Int32

  package static var loaded: SQLiteLibrary { SQLiteLibrary(number: sqlite3_libversion_number()) }

  package init(number: Int32) { self.number = number }

  /// The version as text, such as `3.40.1`.
  package var version: String { "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)" }

  /// Turns off SQLite's accounting of the memory of the whole process, which takes a lock for every allocation. Call it
  /// in a program that is only a node, before it opens a database. Later calls do nothing.
  package static func leaveMemoryUncounted() { _ = mesh_sqlite3_set_memory_statistics(0) }

  /// Whether commits can be lost when one process resets the write-ahead log while another one checkpoints it.
  package var losesCommitsOnReset: Bool {
    switch number {
    case ..<3_007_000: false
    case 3_044_006..<3_045_000, 3_050_007..<3_051_000: false
    default: number < 3_051_003
    }
  }
}
