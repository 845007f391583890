import GRDB

/// Why the store refuses. The message names the thing, the rule and the way out; it never holds a row's values.
public struct StoreError: Error, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    /// The file is not there, and was not to be made. Name another path, or create it.
    case missing
    /// The path cannot be opened: a directory, a missing directory, a special file.
    case cannotOpen
    /// The file's header is not SQLite's.
    case notADatabase
    /// The file looks like an encrypted database, which this node cannot read.
    case encrypted
    /// SQLite finds the file damaged. Restore it from a copy.
    case corrupt
    /// Another process held the lock for longer than the time-out. Try again, or end the other's transaction.
    case locked
    /// The file or its directory cannot be written by this process.
    case readOnly
    /// The file lies on a file system whose locks and shared memory other machines do not see.
    case networkFileSystem
    /// The SQLite library lacks what the store needs. Install a newer one.
    case libraryTooOld
    /// No space left. Make room and try again; nothing is lost.
    case diskFull
    /// The disk failed a read or a write.
    case inputOutput
    /// Tables cannot be synchronized as they are; the message lists every reason. Change the schema.
    case schemaRefused
    /// No synchronized table has that name.
    case unknownTable
    /// The file's tables of ours are from a later version of this program.
    case formatTooNew
    /// The file was restored or replaced while it was open. Open it again; nothing can be done with it before.
    case replaced
    /// A statement of ours failed in SQLite: a defect, or a schema that changed under it.
    case statementFailed
  }

  public let code: Code
  public let message: String
  /// Each by itself, where there may be several; the message has them all.
  public let reasons: [String]

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
    reasons = []
  }

  /// A line for each reason.
  public init(_ code: Code, reasons: [String]) {
    self.code = code
    self.message = reasons.joined(separator: "\n")
    self.reasons = reasons
  }

  public var description: String { message }

  static func replaced(_ path: String) -> StoreError {
    StoreError(
      .replaced, "\(path) was restored or replaced while the node had it open; the node opens it again by itself")
  }

  static func unknownTable(_ name: String) -> StoreError {
    StoreError(.unknownTable, "no synchronized table is called \"\(name)\"; mesh status lists them")
  }
}

extension StoreError {
  /// What went wrong in SQLite with the database at `path`.
  init(_ error: DatabaseError, path: String) {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init(
        .locked, "\(path) is locked by another process; end its transaction or close that program, then try again")
    case .SQLITE_NOTADB:
      self.init(.notADatabase, "\(path) is not a SQLite database; name another file")
    case .SQLITE_CORRUPT:
      self.init(
        .corrupt, "\(path) is damaged (SQLite: \(error.reason)); restore it from a copy or use sqlite3 .recover")
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
      self.init(.readOnly, "\(path) cannot be written (SQLite: \(error.reason)); make file and directory writable")
    case .SQLITE_CANTOPEN:
      self.init(.cannotOpen, "\(path) cannot be opened (SQLite: \(error.reason)); look at the path and its permissions")
    case .SQLITE_FULL:
      self.init(.diskFull, "no space left for \(path); make room, then try again")
    case .SQLITE_IOERR:
      self.init(.inputOutput, "the disk failed while \(path) was used (SQLite: \(error.reason))")
    default:
      self.init(.statementFailed, "\(path): SQLite refuses (\(error.resultCode.rawValue)): \(error.reason)")
    }
  }
}

extension DatabaseError {
  /// SQLite's own words, without the statement or its arguments.
  var reason: String { message ?? "result code \(extendedResultCode.rawValue)" }
}
