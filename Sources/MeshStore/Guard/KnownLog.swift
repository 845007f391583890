import Foundation
import GRDB

/// The write-ahead log of a database, and the file to which it belongs.
///
/// SQLite finds a log by its name alone. If another file takes the place of a database whose programs were killed, it
/// copies their log into that file, which damages it. A log tells nothing about its file, so a node remembers both.
package struct KnownLog: Hashable, Codable, Sendable {
  private let file: FileMark
  private let log: FileMark
  /// The first bytes of the log. They have a random number, which changes whenever the log begins again.
  private let header: Data
  /// The ids of the file's history that the file may have without its log. An empty one stands for no id.
  private let lives: Set<Data>

  /// The relation of the log beside a database to the file that is there.
  package enum Relation: Hashable, Sendable {
    /// Nothing tells that the log belongs to another file, or there is no log.
    case own
    /// The log belongs to another file, which is no longer at the path.
    case foreign
    /// The log belongs to another file. The one at the path is a copy of that: with the log, it is either as that file
    /// was last, or damaged.
    case ofOriginal
    /// The log belongs to another file, and programs use it. Contains the other processes among them.
    case used([LockHolder])
  }

  /// Reads the log that a store has open. Returns nil if it is empty, or if the file can't be read without it.
  init?(_ opened: DatabaseFile, life: [UInt8]) {
    guard opened.vfs == nil, let header = Self.header(opened.place), let file = FileMark(at: opened.place),
      let log = FileMark(at: opened.place + "-wal"), let before = try? Self.life(opened.place)
    else { return nil }
    (self.file, self.log, self.header, lives) = (file, log, header, [before, Data(life)])
  }

  /// Returns whether the log of a store still is this one, and has not begun again. An empty log is none.
  ///
  /// - Parameter place: The path of the store's file, without symbolic links.
  package static func isCurrent(_ known: KnownLog?, at place: String) -> Bool { header(place) == known?.header }

  /// Compares the log and the file that are at the path now with those that were there. It doesn't open the log.
  package func relation(at path: String) -> Relation {
    let place = DatabaseFile.place(of: path)
    guard Self.isCurrent(self, at: place), let log = FileMark(at: place + "-wal"), log.isSame(as: self.log),
      let file = FileMark(at: place), !file.isSame(as: self.file)
    else { return .own }
    let index = FileIdentity(at: place + "-shm")
    let users = LockHolder.all(LockHolder.Lock.open, ofIndex: index?.inode)
    guard users.isEmpty, index?.openPath == nil else { return .used(users) }
    // A copy that was made while pages were copied from the log may be unreadable.
    guard let life = try? Self.life(place) else { return .ofOriginal }
    return lives.contains(life) ? .ofOriginal : .foreign
  }

  /// Moves the log that is beside a database to a path without a file.
  package static func moveLog(of path: String, to target: String) throws {
    let log = DatabaseFile.place(of: path) + "-wal"
    guard FileStatus(path: target) == nil, rename(log, target) == 0 else {
      throw StoreError(.cannotOpen, "\(log) can't be moved to \(target); move it away")
    }
  }

  /// Returns the header of a log, or nil if the log is missing or empty. SQLite holds no locks on a log, so closing it
  /// drops none.
  private static func header(_ place: String) -> Data? {
    let descriptor = open(place + "-wal", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: headerSize)
    guard pread(descriptor, &bytes, headerSize, 0) == headerSize else { return nil }
    return Data(bytes)
  }

  private static let headerSize = 32

  /// Returns the id of a file's history without its log, or no bytes if it has none.
  private static func life(_ place: String) throws -> Data {
    let queue = try DatabaseQueue(
      path: DatabaseFile.uri(place, "immutable=1"), configuration: DatabaseFile.plainConfiguration)
    defer { try? queue.close() }
    return try queue.read { db in
      guard try MeshTables.exist(db) else { return Data() }
      return try StateTable.life(db) ?? Data()
    }
  }
}

/// The marks of a file by which it is known again.
private struct FileMark: Hashable, Codable {
  let device: UInt64
  let inode: UInt64
  /// The time of its creation, in nanoseconds since 1970, or nil if the file system doesn't keep it.
  let birth: Int64?

  init?(at path: String) {
    guard let identity = FileIdentity(at: path) else { return nil }
    (device, inode, birth) = (identity.device, identity.inode, FileStatus.birth(of: path))
  }

  /// Returns whether the two are one file. A file system may give the number of a deleted file to the next one, and some
  /// number their files again when they are mounted.
  func isSame(as other: FileMark) -> Bool {
    guard let birth, let otherBirth = other.birth else { return (device, inode) == (other.device, other.inode) }
    return birth == otherBirth
  }
}
