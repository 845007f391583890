import Foundation
import MeshControl
import MeshStore

/// The write-ahead log of the node's database, as the home remembers it. SQLite would copy the log of a node that was
/// killed into whatever file is at the path the next time.
struct RememberedLog {
  let home: Home

  /// Remembers the log that a store has open.
  ///
  /// - Returns: The log, or nil if nothing is known about it.
  func remember(_ store: Store) throws -> KnownLog? {
    let log = try store.file.knownLog()
    if let log {
      try home.write(.databaseLog, Array(try JSONEncoder().encode(log)) + [0x0a])
    } else if try home.exists(.databaseLog) {
      try home.remove(.databaseLog)
    }
    return log
  }

  /// Returns the relation of the log beside the file at the path to that file.
  func relation(at path: String) throws -> KnownLog.Relation { try log()?.relation(at: path) ?? .own }

  /// Moves a log away that belongs to another file than the one at the path. Call this before anything opens the file.
  ///
  /// - Parameter time: The time in milliseconds since 1970, for the new name of the log.
  /// - Returns: A notice of the log that was moved and its new path, or nil if none was moved.
  /// - Throws: A `Refusal` if the file must not be opened.
  func leaveOtherLog(at path: String, time: Int64) throws -> String? {
    let what = "another file was put at \(path), and \(path)-wal is still the log of the file that was there before"
    switch try relation(at: path) {
    case .own: return nil
    case .foreign:
      let target = "\(path)-wal-former-\(time)"
      try KnownLog.moveLog(of: path, to: target)
      return
        "\(what). SQLite would have copied it into the new file, so the node has moved it to \(target). It has the last "
        + "commits of the former file. To read them, put it beside that file, with the name of that file and -wal"
    case .ofOriginal:
      throw Refusal(
        code: "database.otherLog",
        message:
          "\(what), of which this one is a copy. SQLite would copy the log into it. For a backup that is wrong, so move the log "
          + "away: mv \(path)-wal \(path)-wal-former. If cp has copied the file without its log, the copy needs it: sqlite3 "
          + "\(path) \"PRAGMA wal_checkpoint(TRUNCATE)\"")
    case .used(let others):
      let names = others.isEmpty ? "this process" : others.map(\.description).joined(separator: ", ")
      throw Refusal(
        code: "database.otherLog",
        message: "\(what), and \(names) uses it. Opening the new file would damage it. End that program, and try again."
      )
    }
  }

  /// Returns the remembered log. A file that can't be read is as good as none.
  private func log() throws -> KnownLog? {
    guard try home.exists(.databaseLog) else { return nil }
    return try? JSONDecoder().decode(KnownLog.self, from: Data(try home.read(.databaseLog)))
  }
}

extension Home {
  /// Moves the write-ahead log beside the node's database away, if it certainly belongs to another file, which was at the
  /// path before. Call this before a program of this process opens the database.
  ///
  /// - Returns: A notice of the log that was moved and its new path, or nil if none was moved.
  /// - Throws: A `Refusal` `database.otherLog` if SQLite must not open the file with that log.
  public func leaveOtherLog() throws -> String? {
    try RememberedLog(home: self).leaveOtherLog(at: try configuration().database, time: SystemTime().milliseconds())
  }
}
