import Foundation
import GRDB
import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// A log that was deleted while the store had the file open.
@Suite struct LostLogTests {
  @Test("the commits of a deleted log are put into the file", arguments: [["-wal", "-shm"], ["-wal"], ["-shm"]])
  func copied(names: [String]) throws {
    try withStore { store, path in
      for name in names { try FileManager.default.removeItem(atPath: path + name) }
      #expect(store.file.whereabouts == .logLost)
      #expect(try store.file.leaveLog(savingTo: path + "-saved") == .copied)
      #expect(throws: (any Error).self) {
        try store.zones.setStandings([ZoneStanding(zone: Member.zone(1), role: .privateZone)])
      }
      try store.close()
      #expect(try ids(path) == ["k"])
      #expect(FileStatus(path: path + "-saved") == nil)
    }
  }

  @Test("another log that belongs to the file is neither mixed with the deleted one nor deleted")
  func saved() throws {
    try withStore { store, path in
      let file = try Data(contentsOf: URL(filePath: path))
      let log = Data("a log of another program".utf8)
      for name in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + name) }
      try log.write(to: URL(filePath: path + "-wal"))
      #expect(try store.file.leaveLog(savingTo: path + "-saved") == .saved)
      try store.close()
      #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == log)
      #expect(try Data(contentsOf: URL(filePath: path)) == file)
      #expect(try ids(path + "-saved") == ["k"])
    }
  }

  @Test("a log that another program may have continued with a new index is not mixed")
  func otherIndex() throws {
    try withStore { store, path in
      try FileManager.default.removeItem(atPath: path + "-shm")
      try Data().write(to: URL(filePath: path + "-shm"))
      let log = try Data(contentsOf: URL(filePath: path + "-wal"))
      #expect(try store.file.leaveLog(savingTo: path + "-saved") == .saved)
      try store.close()
      #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == log)
    }
  }

  @Test("a log that this process uses elsewhere too is not given up, and the store goes on")
  func usedHere() throws {
    try withStore { store, path in
      let other = try DatabaseQueue(path: path)
      _ = try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
      try FileManager.default.removeItem(atPath: path + "-shm")
      #expect {
        _ = try store.file.leaveLog(savingTo: path + "-saved")
      } throws: {
        ($0 as? StoreError)?.code == .locked
      }
      #expect(throws: StoreError.self) { try store.file.leaveLog(savingTo: path + "-saved", isShared: true) }
      #expect(FileStatus(path: path + "-saved") == nil)
      try other.close()
      #expect(try store.file.leaveLog(savingTo: path + "-saved") == .copied)
      try store.close()
      #expect(try ids(path) == ["k"])
    }
  }

  /// Runs `body` with a store whose table `t` has a row that is in the log alone.
  private func withStore(_ body: (Store, String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appendingPathComponent("a.db").path
    let program = try DatabaseQueue(path: path)
    try program.write { try $0.execute(sql: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL)") }
    try program.close()
    let store = try Store(path: path, cryptography: try Sodium())
    #expect(store.file.whereabouts == .here)
    let writer = try DatabaseQueue(path: path)
    try writer.write { try $0.execute(sql: "INSERT INTO t VALUES ('k')") }
    try writer.close()
    try body(store, path)
  }

  private func ids(_ path: String) throws -> [String] {
    let program = try DatabaseQueue(path: path)
    defer { try? program.close() }
    return try program.read { try String.fetchAll($0, sql: "SELECT id FROM t") }
  }
}
