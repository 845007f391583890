import Foundation

/// Another process that reads from a database's write-ahead log, as the kernel lists its locks.
public struct WALReader: Hashable, Sendable {
  public let pid: Int32
  /// The program's name, where the kernel tells it.
  public let program: String

  /// Those of the database at `path`; none where the kernel does not list locks.
  static func all(ofDatabase path: String) -> [WALReader] {
    guard let status = FileStatus(path: path + "-shm"),
      let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
    else { return [] }
    return pids(inode: status.inode, locks: table).filter { $0 != getpid() }.map {
      WALReader(pid: $0, program: name($0))
    }
  }

  /// Holders of read marks above zero; `locks` is the text of /proc/locks:
  /// `1: POSIX  ADVISORY  READ 1779 fe:00:16320802 124 124`, the last two the first and last byte.
  static func pids(inode: UInt64, locks: String) -> [Int32] {
    var found: Set<Int32> = []
    for line in locks.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count == 8, fields[1] == "POSIX", let pid = Int32(fields[4]),
        fields[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode,
        let first = Int(fields[6]), let last = Int(fields[7]), first <= marks.upperBound, last >= marks.lowerBound
      else { continue }
      found.insert(pid)
    }
    return found.sorted()
  }

  /// Bytes of the index that stand for the read marks above zero.
  private static let marks = 124...127

  private static func name(_ pid: Int32) -> String {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8) else { return "" }
    return text.trimmingCharacters(in: .newlines)
  }
}
