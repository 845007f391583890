import Foundation
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
}
