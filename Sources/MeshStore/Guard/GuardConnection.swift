import CSQLite
import GRDB
import MeshCore

/// A connection of the guard. It reads or checkpoints, and takes no part in the store's transactions.
final class GuardConnection {
  let handle: OpaquePointer
  private let sql: Connection
  private var isOpen = true

  init(path: String, vfs: String?) throws {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw DatabaseError(resultCode: ResultCode(rawValue: code))
    }
    handle = opened
    sql = Connection(opened)
    // Only `checkpoint` copies.
    try run("PRAGMA wal_autocheckpoint = 0")
    try run("PRAGMA mmap_size = 0")
    // With NORMAL, a checkpoint syncs the log before it copies, and the file before it counts the copied frames.
    try run("PRAGMA synchronous = NORMAL")
  }

  func run(_ statement: String, _ arguments: [Value] = []) throws { try sql.run(statement, arguments) }

  func integer(_ statement: String) throws -> Int64? { try sql.integer(statement) }

  /// Returns the first column of all rows.
  func texts(_ statement: String) throws -> [String] { try sql.all(statement) { $0.text(0) } }

  /// Takes a snapshot, and with it a read mark. The pragma is the cheapest statement that reads, and it needs no
  /// schema.
  func beginReading() throws {
    try run("BEGIN")
    do {
      _ = try sql.integer("PRAGMA main.schema_version")
    } catch {
      endReading()
      throw error
    }
  }

  func endReading() {
    // Nothing was written, so this can only fail if the transaction never began.
    try? run("COMMIT")
  }

  /// Checkpoints the log.
  ///
  /// - Returns: False if another program's lock kept it from copying everything.
  func checkpoint(_ mode: Int32) throws -> Bool {
    let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
    switch code {
    case SQLITE_OK: return true
    case SQLITE_BUSY, SQLITE_LOCKED: return false
    default: throw sql.error(code)
    }
  }

  /// Returns the log's index, or nil while another connection is changing it.
  func index() throws -> WALIndex? {
    var index = mesh_wal_index()
    for _ in 0..<Self.looks {
      switch mesh_wal_read_index(handle, &index) {
      case SQLITE_OK: return WALIndex(index)
      case SQLITE_BUSY: continue
      case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "no index of the log")
      }
    }
    return nil
  }

  /// The number of attempts to read the index. Its header is written within nanoseconds.
  private static let looks = 100

  /// Whether any connection is checkpointing now.
  var isCheckpointed: Bool { mesh_wal_try_checkpoint_lock(handle) == SQLITE_BUSY }

  deinit { close() }

  /// Closes the connection. A second call does nothing.
  func close() {
    guard isOpen else { return }
    isOpen = false
    // Statements keep a connection open.
    sql.forget()
    sqlite3_close_v2(handle)
  }
}

/// A write-ahead log as its index describes it.
struct WALIndex: Hashable {
  let frames: UInt32
  /// The number of frames whose pages are in the database.
  let copied: UInt32
  /// A number that changes with every reset.
  let salt: UInt64
  /// The number of bytes that the frames take in the file.
  let bytes: Int64
  /// The mark that the next reader gets, if it is above zero: the newest of four. It is not the end of the log if other
  /// readers hold all four.
  let newestMark: UInt32

  init(_ index: mesh_wal_index) {
    (frames, copied, salt) = (index.frames, index.copied, index.salt)
    newestMark = [index.marks.1, index.marks.2, index.marks.3, index.marks.4].filter { $0 <= index.frames }.max() ?? 0
    bytes = frames == 0 ? 0 : Self.header + Int64(frames) * (Self.frameHeader + Int64(index.page_size))
  }

  /// True also for a log without frames. The next writer may reset the log.
  var isCopied: Bool { copied >= frames }

  /// The number of `bytes` that are not copied.
  var bytesLeft: Int64 { isCopied ? 0 : bytes / Int64(frames) * Int64(frames - copied) }

  private static let header: Int64 = 32
  private static let frameHeader: Int64 = 24
}
