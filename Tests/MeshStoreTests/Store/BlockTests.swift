import CSQLite
import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Reading and writing the files in blocks.
@Suite struct BlockTests {
  private static let schema = "CREATE TABLE item (id INTEGER PRIMARY KEY, n, content BLOB)"
  private struct Failure: Error {}

  private func peer() throws -> Peer {
    let peer = try Peer(1, schema: Self.schema, track: [])
    try peer.store.read { _ = try $0.sql.integer("PRAGMA cache_size = 100") }
    return peer
  }

  /// More than the cache has, so that pages go to the log before the commit, and again.
  private func write(_ session: Session, _ number: Int) throws {
    try session.sql.run("INSERT INTO item (n, content) VALUES (\(number), zeroblob(3000000))")
    var blob: OpaquePointer?
    let row = session.sql.lastInsertedID
    #expect(sqlite3_blob_open(session.sql.handle, "main", "item", "content", row, 1, &blob) == SQLITE_OK)
    let bytes = [UInt8](repeating: UInt8(number), count: 100_000)
    for place in 0..<30 { #expect(sqlite3_blob_write(blob, bytes, 100_000, Int32(place * 100_000)) == SQLITE_OK) }
    #expect(sqlite3_blob_close(blob) == SQLITE_OK)
  }

  private func expectWhole(_ peer: Peer, _ numbers: [Int]) throws {
    let found = try peer.other.read { db in
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      return try Row.fetchAll(db, sql: "SELECT n, content FROM item ORDER BY id").map { row in
        let (number, content): (Int, [UInt8]) = (row["n"], Array(row["content"] as Data))
        #expect(content.count == 3_000_000 && content.allSatisfy { $0 == UInt8(number) })
        return number
      }
    }
    #expect(found == numbers)
  }

  @Test(arguments: [false, true])
  func aCommitIsSeenByOthersAtOnce(isDurable: Bool) throws {
    let peer = try peer()
    try peer.store.inBlocks {
      for number in 1...3 {
        try peer.store.write(isDurable: isDurable) { try write($0, number) }
        try expectWhole(peer, Array(1...number))
      }
    }
    try expectWhole(peer, [1, 2, 3])
    try peer.reopen()
    try expectWhole(peer, [1, 2, 3])
  }

  @Test func whatIsTakenBackIsNotWrittenOverWhatOthersWriteThen() throws {
    let peer = try peer()
    try peer.store.inBlocks {
      for number in [7, 8] {
        #expect(throws: Failure.self) {
          try peer.store.write { session in
            try write(session, number)
            throw Failure()
          }
        }
        try peer.other.write { db in
          try db.execute(
            sql: "INSERT INTO item (n, content) VALUES (?, ?)",
            arguments: [number + 2, Data(repeating: UInt8(number + 2), count: 3_000_000)])
        }
      }
      try expectWhole(peer, [9, 10])
    }
    try expectWhole(peer, [9, 10])
    #expect(try peer.store.read { try $0.sql.integer("SELECT count(*) FROM item") } == 2)
  }

  @Test func whatOthersWriteBetweenTwoSnapshotsIsRead() throws {
    let peer = try peer()
    try peer.store.write { try write($0, 1) }
    try peer.store.inBlocks {
      for number in 2...4 {
        try peer.other.write { db in
          try db.execute(
            sql: "UPDATE item SET n = ?, content = ?", arguments: [number, Data(repeating: 9, count: 3_000_000)])
        }
        if number == 3 { _ = try peer.other.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
        let found = try peer.store.read { session in
          try session.sql.all("SELECT n, content FROM item") { ($0.integer(0), $0.bytes(1)) }
        }
        #expect(found.map(\.0) == [Int64(number)])
        #expect(found.allSatisfy { $0.1.allSatisfy { $0 == 9 } })
      }
    }
  }
}
