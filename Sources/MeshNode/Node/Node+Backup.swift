import Dispatch
import MeshControl
import MeshCore
import MeshStore

/// `mesh backup`.
extension Node {
  func backup(to file: String) async throws -> BackupReport {
    let path = store.place
    let bytes: Int64
    if store.whereabouts == .here, suspension == nil {
      // Beside the node: a large file takes its time.
      let result: Result<Int64, any Error> = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(returning: Result { try DatabaseBackup.copy(databaseAt: path, to: file) })
        }
      }
      bytes = try result.get()
    } else {
      bytes = try backUpOpenFile(to: file)
    }
    // Of a file that was restored or replaced nothing more can be said.
    let isWhole = suspension == nil
    return BackupReport(
      file: file, bytes: Int(bytes), database: path, home: home.path,
      tables: isWhole ? try store.tables().map(\.name) : [],
      lackingAssets: isWhole ? try lackingAssets() : LackingAssets())
  }
}
