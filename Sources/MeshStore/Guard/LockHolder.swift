import Foundation
import MeshCore

/// Another process that has a lock on a database, as the kernel lists it.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
  package let pid: Int32
  /// The program's name, or an empty text if the kernel doesn't tell it.
  package let program: String

  package var description: String { program.isEmpty ? "process \(pid)" : "process \(pid) (\(printable(program)))" }

  /// The bytes that stand for locks, of the log's index and of a database without a log.
  enum Lock {
    /// The write lock.
    static let write = 120...120
    /// The read marks above zero.
    static let marks = 124...127
    /// The lock that every connection holds as long as it is open.
    static let open = 128...128
    /// The lock of a program that writes to a database without a log.
    static let reserved = 0x4000_0001...0x4000_0001
  }

  /// Returns the other processes that hold the write lock of a database, which needn't be open here.
  package static func writers(ofDatabaseAt path: String) -> [LockHolder] {
    let index = realpath(path, nil).map { place in
      defer { free(place) }
      return String(cString: place) + "-shm"
    }
    let writers =
      all(Lock.write, ofIndex: index.flatMap { FileIdentity(at: $0)?.inode })
      + all(Lock.reserved, ofIndex: FileIdentity(at: path)?.inode)
    return Set(writers).sorted { $0.pid < $1.pid }
  }

  /// Returns the other processes that hold a lock on the index of a database's log, or on another file. Returns none if
  /// the kernel doesn't list locks.
  static func all(_ bytes: ClosedRange<Int>, ofIndex inode: UInt64?) -> [LockHolder] {
    guard let inode, let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else { return [] }
    return pids(bytes, inode: inode, locks: table).filter { $0 != getpid() }.map {
      LockHolder(pid: $0, program: name($0))
    }
  }

  /// Returns the processes that hold a lock on these bytes.
  ///
  /// - Parameter locks: The text of /proc/locks, with lines such as `1: POSIX  ADVISORY  READ 1779 fe:00:16320802 124
  ///   124`. The last two numbers are the first and the last byte.
  static func pids(_ bytes: ClosedRange<Int>, inode: UInt64, locks: String) -> [Int32] {
    var found: Set<Int32> = []
    for line in locks.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count == 8, fields[1] == "POSIX", let pid = Int32(fields[4]),
        fields[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode,
        let first = Int(fields[6]), let last = Int(fields[7]), first <= bytes.upperBound, last >= bytes.lowerBound
      else { continue }
      found.insert(pid)
    }
    return found.sorted()
  }

  /// Returns whether the process is running and has a file open. If this user can't see the open files of a process, it
  /// counts as having the file open.
  func hasOpen(_ file: FileIdentity) -> Bool {
    let directory = "/proc/\(pid)/fd"
    guard FileManager.default.fileExists(atPath: directory) else { return false }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
      return FileManager.default.fileExists(atPath: directory)
    }
    return names.contains { FileIdentity(at: "\(directory)/\($0)") == file }
  }

  private static func name(_ pid: Int32) -> String {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8) else { return "" }
    return text.trimmingCharacters(in: .newlines)
  }
}
