import Foundation
import GRDB
import Logging
import MeshControl
import MeshCore
import MeshNode
import MeshStore

/// The tables that an app synchronizes.
struct SyncedTables: Sendable {
  let database: any DatabaseWriter
  /// Tables whose records are shared together with the root record.
  let shareable: [String]
  /// Tables whose records stay in the account.
  let privateTables: [String]

  /// The policies of columns of these tables, in the app's order.
  var chosen: [ConflictPolicy] = []

  /// The policies by table and column.
  private var policies: [String: [String: ColumnPolicy]] {
    chosen.reduce(into: [:]) { $0[$1.table, default: [:]][$1.column] = $1.policy }
  }

  var names: [String] { shareable + privateTables }

  /// Checks everything that may prevent the tables from being synchronized.
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
      let reasons = try Store.violations(db, tables: shareable, private: privateTables)
      let listed = Set(names.map(\.asciiLowercased))
      let strangers = policies.keys.filter { !listed.contains($0.asciiLowercased) }.sorted().map {
        "\($0): it has a conflict policy and isn't synchronized; name it in the tables as well"
      }
      let twice = Dictionary(grouping: chosen) { "\($0.table): \($0.column)" }.compactMap { column, chosen in
        let names = Set(chosen.map(\.policy)).map(\.name).sorted()
        if names.count < 2 { return String?.none }
        return "\(column) has the policies \(names.joined(separator: " and ")); choose one of them"
      }.sorted()
      let known = try policies.filter { try listed.contains($0.key.asciiLowercased) && db.tableExists($0.key) }
      return try reasons + strangers + twice + Store.policyViolations(db, known)
    }
    guard reasons.isEmpty else { throw Self.refusal(reasons) }
  }

  private static func refusal(_ reasons: [String]) -> SyncError {
    SyncError(
      .schema,
      "These tables can't be synchronized:\n" + reasons.map { "- \($0)" }.joined(separator: "\n"), reasons: reasons)
  }

  /// Makes a node synchronize these tables. Tables that this app named before and no longer names are no longer
  /// synchronized. Their rows stay, here and on other devices.
  ///
  /// Tables that were synchronized before the app named them, for example by `mesh track`, stay synchronized. So do
  /// tables that another app names.
  func prepare(on control: any NodeControl, home: Home, logger: Logger) async throws {
    // Another app may start at the same instant.
    try await home.exclusively { try await prepareAlone(on: control, home: home, logger: logger) }
  }

  private func prepareAlone(on control: any NodeControl, home: Home, logger: Logger) async throws {
    let status = try await control.perform(StatusRequest())
    guard let here = FileIdentity(at: database.path), here == FileIdentity(at: status.database) else {
      throw SyncError(
        .database,
        "The node of this home synchronizes \(status.database), and not \(database.path). Give the engine another home, or open "
          + "that database.")
    }
    let app = ProcessInfo.processInfo.processName
    var named = try Self.namedTables(home)
    let before = named[app] ?? []
    let tracked = Set(status.tables.map(\.asciiLowercased))
    let listed = Set(names.map(\.asciiLowercased))
    named[app] = names.map(\.asciiLowercased).filter { before.contains($0) || !tracked.contains($0) }.sorted()
    let kept = listed.union(named.values.joined())
    // This comes before the others are tracked, because one of them may be a former table with a new name.
    let former = status.tables.filter { before.contains($0.asciiLowercased) && !kept.contains($0.asciiLowercased) }
    if !former.isEmpty {
      _ = try await control.perform(UntrackRequest(tables: former))
      logger.notice(
        "no longer synchronized, because the app doesn't name them any more: \(former.joined(separator: ", "))")
    }
    if named[app] != before { try home.write(.appTables, Array(JSONEncoder().encode(named))) }
    if !names.isEmpty {
      do {
        _ = try await control.perform(
          TrackRequest(
            tables: shareable, privateTables: privateTables,
            policies: policies.mapValues { $0.mapValues(\.name) }))
      } catch let error as any Refusing where error.refusal.code == SyncError.Code.schema.rawValue {
        throw Self.refusal(error.refusal.reasons)
      }
    }
    try await trackAgain(on: control, logger)
  }

  /// Synchronizes again the tables that weren't the app's when mesh's tables were removed from the file.
  private func trackAgain(on control: any NodeControl, _ logger: Logger) async throws {
    guard let requests = try await Bookkeeping.tablesPutAside(in: database) else { return }
    do {
      for request in requests { _ = try await control.perform(request) }
    } catch let error as any Refusing where error.refusal.code == SyncError.Code.schema.rawValue {
      // They stay put aside, and the next start tries again.
      return logger.error("tables that were synchronized before can't be now: \(error.refusal.message)")
    }
    try await Bookkeeping.dropPutAside(in: database)
  }

  /// Returns the tables that each app named and that weren't synchronized before, by the name of its program.
  ///
  /// - Throws: A `HomeError` `.damaged` if the file is damaged, so that the names of other apps aren't overwritten.
  private static func namedTables(_ home: Home) throws -> [String: [String]] {
    guard try home.exists(.appTables) else { return [:] }
    do {
      return try JSONDecoder().decode([String: [String]].self, from: Data(home.read(.appTables)))
    } catch let error as HomeError {
      throw error
    } catch {
      throw HomeError(
        .damaged,
        """
        \(home.path(of: .appTables)) is damaged. Move it away, and start the app again. Tables that an app no longer \
        names then stay synchronized, until you name them: mesh untrack TABLE
        """)
    }
  }
}
