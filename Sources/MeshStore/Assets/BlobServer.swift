import GRDB
import MeshCore

/// Reads long BLOBs for peers, on a connection of its own that keeps them open. To find the middle of a BLOB, SQLite
/// walks all pages before it. This takes a measured millisecond for each megabyte, and peers ask for all chunks. While
/// a BLOB is open, SQLite knows the way.
///
/// An open BLOB holds a read mark, and as long as it does, nobody can reset the write-ahead log. So a BLOB is closed
/// when the store's writes have filled the log, or when nobody asks for it any more. It is also closed after as many
/// chunks were read as it has. It shows the row as it was when it was opened. Its chunks are checked in any case.
///
/// The store's one caller uses it.
final class BlobServer {
  private let path: String
  private let vfs: String?
  private var connection: GuardConnection?
  private var opened: [AssetID: (blob: Blob, left: Int)] = [:]

  /// The smallest BLOB that is read in this way, in bytes. Below that, the walk takes only some milliseconds.
  static let least = 4 << 20
  /// True if something was read since `restIfIdle`.
  private var isUsed = false
  /// The number of BLOBs that are open at one time.
  private static let most = 4

  init(path: String, vfs: String?) {
    self.path = path
    self.vfs = vfs
  }

  /// Returns a chunk, or nil if it can't be read in this way.
  func chunk(_ index: Int, of asset: Asset, _ cell: RowCell, rowid: Int64) -> [UInt8]? {
    isUsed = true
    do {
      var (blob, left) = try opened[asset.id] ?? (open(cell, rowid), asset.chunkCount)
      let bytes = try blob.read(asset.range(ofChunk: index))
      left -= 1
      opened[asset.id] = left > 0 ? (blob, left) : nil
      return bytes
    } catch {
      // The row has changed, or it can't be read in place.
      opened[asset.id] = nil
      return nil
    }
  }

  private func open(_ cell: RowCell, _ rowid: Int64) throws -> Blob {
    if opened.count >= Self.most { opened = [:] }
    let connection = try self.connection ?? GuardConnection(path: path, vfs: vfs)
    self.connection = connection
    return try Blob(Connection(connection.handle), cell, rowid: rowid, isWritable: false)
  }

  /// Closes all BLOBs until a peer asks again.
  func rest() { opened = [:] }

  func restIfIdle() {
    if !isUsed { rest() }
    isUsed = false
  }

  func close() {
    opened = [:]
    connection?.close()
    connection = nil
  }
}
