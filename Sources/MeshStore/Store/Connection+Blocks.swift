import CSQLite
import GRDB

extension Connection {
  /// What is read and written inside goes through the files of the connection in blocks instead of page by page: of long BLOBs that is
  /// most of the work. Between transactions or inside one that reads; 2 MiB meanwhile.
  ///
  /// - Parameter isWorth: False where nothing is changed by it.
  func inBlocks<T>(where isWorth: Bool = true, _ body: () throws -> T) throws -> T {
    guard isWorth, let blocks = mesh_blocks_install(handle) else { return try body() }
    let result = Result { try body() }
    let code = mesh_blocks_remove(blocks)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    return try result.get()
  }

  /// The connection is inside of a transaction that has the write lock.
  var isWriting: Bool { sqlite3_txn_state(handle, "main") == SQLITE_TXN_WRITE }
}
