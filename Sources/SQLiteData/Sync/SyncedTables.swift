import GRDB
import MeshControl
import MeshStore

/// The tables that an app synchronizes.
struct SyncedTables: Sendable {
  let database: any DatabaseWriter
  /// Tables whose records go along with the root record that is shared.
  let shareable: [String]
  /// Tables whose records stay in the account.
  let privateTables: [String]

  var names: [String] { shareable + privateTables }

  /// Looks for everything that keeps the tables from being synchronized.
  ///
  /// - Throws: A ``SyncError`` with every reason of every table.
  func validate() throws {
    let path = database.path
    guard !path.isEmpty, path != ":memory:", !path.hasPrefix("file::memory:"), !path.contains("mode=memory") else {
      throw SyncError(
        .database,
        "The database is in memory, and a node needs a file. Open it with defaultDatabase(), which makes a temporary file in "
          + "a test.")
    }
    let reasons = try database.read { db in
      try Store.violations(db, tables: shareable, private: privateTables)
    }
    guard reasons.isEmpty else { throw Self.refusal(reasons) }
  }

  private static func refusal(_ reasons: [String]) -> SyncError {
    SyncError(
      .schema,
      "These tables can't be synchronized:\n" + reasons.map { "- \($0)" }.joined(separator: "\n"), reasons: reasons)
  }

  /// Has a node synchronize these tables.
  ///
  /// - Parameter removesOthers: Whether the app alone decides which tables are synchronized. Tables that it named before, and
  ///   names no longer, aren't synchronized from then on: their rows stay, here and on other devices.
  func prepare(on control: any NodeControl, removesOthers: Bool) async throws {
    let status = try await control.perform(StatusRequest())
    guard let here = FileIdentity(at: database.path), here == FileIdentity(at: status.database) else {
      throw SyncError(
        .database,
        "The node of this home synchronizes \(status.database), and not \(database.path). Give the engine another home, or open "
          + "that database.")
    }
    // Before the others are tracked: one of them may be a former one under its new name.
    let listed = Set(names.map { $0.lowercased() })
    let former = status.tables.filter { !listed.contains($0.lowercased()) }
    if removesOthers, !former.isEmpty { _ = try await control.perform(UntrackRequest(tables: former)) }
    guard !names.isEmpty else { return }
    do {
      _ = try await control.perform(TrackRequest(tables: shareable, privateTables: privateTables))
    } catch let error as any Refusing where error.refusal.code == SyncError.Code.schema.rawValue {
      throw Self.refusal(error.refusal.reasons)
    }
  }
}
