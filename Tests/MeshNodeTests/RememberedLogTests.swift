import Foundation
import GRDB
import Logging
import MeshControl
import MeshCrypto
import MeshStore
import Testing

@testable import MeshNode

/// The log of a killed node beside another file.
@Suite struct RememberedLogTests {
  @Test("a file beside another file's log is not opened to accept it, until the log is moved away")
  func otherDatabase() async throws {
    try await withTemporaryDirectory { root in
      let (path, other) = ("\(root)/a.db", "\(root)/other.db")
      let home = try Home.create(at: "\(root)/home")
      try home.write(HomeConfiguration(database: path))
      let store = try Store(path: path, cryptography: try Sodium())
      try store.zones.setStandings([])
      #expect(try RememberedLog(home: home).remember(store) != nil)
      // Another name keeps the log while the store removes it.
      #expect(link(path + "-wal", "\(root)/log") == 0)
      try store.close()
      try Store(path: other, cryptography: try Sodium()).close()
      #expect(rename("\(root)/log", path + "-wal") == 0)
      #expect(rename(other, path) == 0)
      let bytes = FileManager.default.contents(atPath: path)

      #expect(try home.acceptDatabase().isNew)
      #expect((FileManager.default.contents(atPath: path) == bytes) == true)
      #expect(try home.leaveOtherLog()?.contains("\(path)-wal-former-") == true)
      #expect(try home.leaveOtherLog() == nil)
      #expect(try !home.acceptDatabase().isNew)
    }
  }

  @Test("a node that opens its file again first moves the log of another file away")
  func reopened() async throws {
    try await withTemporaryDirectory { root in
      let (path, moved, other) = ("\(root)/a.db", "\(root)/moved.db", "\(root)/other.db")
      try await DatabaseQueue(path: path).write { db in
        try db.execute(sql: "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL); INSERT INTO notes VALUES ('n1')")
      }
      try await makeNode(home: "\(root)/home", database: path)
      let home = try Home.open(at: "\(root)/home")
      let keys = try NodeKeys(home)
      let database = try NodeDatabase(
        home: home, keys: keys, account: AccountStateFile(home, keys.cryptography).saved,
        settings: Settings(home.configuration()), app: nil, time: SystemTime(), lockPatience: nil,
        logger: Logger(label: "test"))
      defer { try? database.close() }
      try database.store.zones.setStandings([])
      try database.rememberLog()
      let log = try #require(FileManager.default.contents(atPath: path + "-wal"))

      // The file is moved away with its log, and then only the log comes back, beside another program's file.
      for name in ["", "-wal", "-shm"] { #expect(rename(path + name, moved + name) == 0) }
      guard case .suspended? = database.follow() else { return #expect(Bool(false), "the file is not missed") }
      #expect(database.suspension?.code == "database.gone")
      try await DatabaseQueue(path: other).write { try $0.execute(sql: "CREATE TABLE stamps (id TEXT)") }
      let bytes = FileManager.default.contents(atPath: other)
      #expect(rename(moved + "-wal", path + "-wal") == 0 && rename(other, path) == 0)
      while database.follow() == nil { try await Task.sleep(for: .milliseconds(20)) }

      #expect(database.suspension?.code == "database.other")
      let former = try #require(
        try FileManager.default.contentsOfDirectory(atPath: root).first { $0.hasPrefix("a.db-wal-former-") })
      #expect(database.notices.contains { $0.contains(former) })
      #expect((FileManager.default.contents(atPath: "\(root)/\(former)") == log) == true)
      #expect((FileManager.default.contents(atPath: path) == bytes) == true)
    }
  }
}
