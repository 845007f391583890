import GRDB
import MeshCore

/// Reads long BLOBs for peers, on a connection of its own that keeps them open. To find the middle of a BLOB SQLite walks all pages
/// before it (measured: a millisecond for each megabyte, and chunks of all of it are asked for); while it is open it knows the way.
///
/// An open BLOB has a read mark, with which nobody resets the write-ahead log: so it closes when the store's writes have filled the
/// log, when nobody asks for it any more, and once as many chunks were read as it has. It shows the row as it was when it was opened;
/// what it gives is proven all the same.
///
/// Guard: used by the store's one caller.
final class BlobServer {
  private let path: String
  private let vfs: String?
  private var connection: GuardConnection?
  private var opened: [AssetID: (blob: Blob, left: Int)] = [:]

  /// Bytes from which it is worth it: below, the walk takes some milliseconds.
  static let least = 4 << 20
  /// Something was read since `restIfIdle`.
  private var isUsed = false
  /// That are open at one time.
  private static let most = 4

  init(path: String, vfs: String?) {
    self.path = path
    self.vfs = vfs
  }

  /// Nil where it can't be read so.
  func chunk(_ index: Int, of asset: Asset, _ cell: Cell, rowid: Int64) -> [UInt8]? {
    isUsed = true
    do {
      var (blob, left) = try opened[asset.id] ?? (open(cell, rowid), asset.chunkCount)
      let bytes = try blob.read(asset.range(ofChunk: index))
      left -= 1
      opened[asset.id] = left > 0 ? (blob, left) : nil
      return bytes
    } catch {
      // The row has changed, or another than SQLite's way has to be found.
      opened[asset.id] = nil
      return nil
    }
  }

  private func open(_ cell: Cell, _ rowid: Int64) throws -> Blob {
    if opened.count >= Self.most { opened = [:] }
    let connection = try self.connection ?? GuardConnection(path: path, vfs: vfs)
    self.connection = connection
    return try Blob(Connection(connection.handle), cell, rowid: rowid, isWritable: false)
  }

  /// Nothing is open any more, until more is asked for.
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
