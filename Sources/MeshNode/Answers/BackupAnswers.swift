import MeshControl
import MeshCore
import MeshStore

/// Handles `mesh backup`.
struct BackupAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func backup(to file: String) async throws -> BackupReport {
    guard file.hasPrefix("/") else {
      throw Refusal(
        code: "backup.path",
        message:
          "\(printable(file)) is not an absolute path. Name the file from / on: the node runs in another directory.",
        exit: .usage)
    }
    let path = store.place
    let bytes: Int64
    if store.file.whereabouts == .here, database.suspension == nil {
      // A large file takes a while.
      bytes = try await Node.outside { try DatabaseBackup.copy(databaseAt: path, to: file) }
    } else {
      bytes = try database.backUp(to: file)
    }
    // After the file was restored or replaced, nothing else is known about it.
    let isWhole = database.suspension == nil
    return BackupReport(
      file: file, bytes: Int(bytes), database: path, home: home.path,
      tables: isWhole ? try store.tables.list().map(\.name) : [],
      lackingAssets: isWhole ? try AssetAnswers(context: context).lacking() : LackingAssets())
  }
}
