import GRDB
import MeshStore

/// Recognizes errors that only say that a disk failed or was full. A store whose log the disk fails to sync says that it
/// doesn't know its file.
enum StorageFault {
  static func isOne(_ error: any Error) -> Bool {
    if let error = error as? StoreError {
      return [.diskFull, .inputOutput, .cannotOpen, .replaced].contains(error.code)
    }
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN].contains(error.resultCode)
  }
}
