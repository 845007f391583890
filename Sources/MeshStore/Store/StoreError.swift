import GRDB

/// The reason that the store refuses an action. The message names the object, the rule and the remedy. It never
/// contains values of a row.
package struct StoreError: Error, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// The file doesn't exist and was not to be created. Name another path, or create it.
    case missing
    /// The path can't be opened: it is a directory, is in a missing directory, or is a special file.
    case cannotOpen
    /// The file doesn't have SQLite's header.
    case notADatabase
    /// The file looks like an encrypted database, which this node can't read.
    case encrypted
    /// SQLite considers the file damaged. Restore it from a copy.
    case corrupt
    /// Another process held the lock for longer than the timeout. Try again, or end the other transaction.
    case locked
    /// This process can't write the file or its directory.
    case readOnly
    /// The file is on a file system whose locks and shared memory other machines don't see.
    case networkFileSystem
    /// The SQLite library lacks a feature that the store needs. Install a newer one.
    case libraryTooOld
    /// No space is left. Make room and try again. Nothing is lost.
    case diskFull
    /// The disk failed a read or a write.
    case inputOutput
    /// Tables can't be synchronized as they are. The message lists every reason. Change the schema.
    case schemaRefused
    /// No synchronized table has that name.
    case unknownTable
    /// The tables of mesh in the file come from a later version of this program.
    case formatTooNew
    /// The file was restored or replaced while it was open, or the disk failed after a commit, so that the store doesn't
    /// know what the file has. Open it again before you use it.
    case replaced
    /// A statement of the store failed in SQLite, because of a defect or a schema that changed meanwhile.
    case statementFailed
  }

  package let code: Code
  package let message: String
  /// The separate reasons, if there may be several. The message contains all of them.
  package let reasons: [String]

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
    reasons = []
  }

  /// Creates an error with one line for each reason.
  package init(_ code: Code, reasons: [String]) {
    self.code = code
    self.message = reasons.joined(separator: "\n")
    self.reasons = reasons
  }

  package var description: String { message }

  static func replaced(_ path: String) -> StoreError {
    StoreError(
      .replaced, "\(path) was restored from a copy while the node had it open; the node opens it again by itself")
  }

  static func unsettled(_ path: String, _ error: DatabaseError) -> StoreError {
    StoreError(
      .replaced,
      "the disk failed while a transaction of \(path) was made durable (SQLite: \(error.reason)); the node opens the file "
        + "again by itself")
  }

  static func unknownTable(_ name: String) -> StoreError {
    StoreError(.unknownTable, "no synchronized table is called “\(name)”; mesh status lists them")
  }
}

extension StoreError {
  /// Creates the error for an SQLite error in the database at `path`.
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
    case .SQLITE_IOERR where FileStatus(path: path) == nil:
      self.init(
        .inputOutput,
        "\(path) disappeared while it was used (SQLite: \(error.reason)); put it back, or a copy of it, and try again")
    case .SQLITE_IOERR:
      self.init(.inputOutput, "the disk failed while \(path) was used (SQLite: \(error.reason))")
    default:
      self.init(.statementFailed, "\(path): SQLite refuses (\(error.resultCode.rawValue)): \(error.reason)")
    }
  }
}

extension DatabaseError {
  /// SQLite's message, without the statement or its arguments.
  var reason: String { message ?? "result code \(extendedResultCode.rawValue)" }
}
