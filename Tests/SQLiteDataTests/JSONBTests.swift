import Foundation
import GRDB
import GRDBSQLite
import SQLiteData
import Testing

@SQLiteData.Table("notes")
private struct Memo: Equatable {
  let id: Int
  @Column(as: [String].JSONBRepresentation.self) var tags: [String] = []
}

@SQLiteData.Table("counts")
private struct Count: Equatable {
  let id: Int
  @Column(as: [String: Double]?.JSONBRepresentation.self) var values: [String: Double]?
}

@Suite("JSONB")
struct JSONBTests {
  private func database() throws -> DatabaseQueue {
    let database = try DatabaseQueue()
    try database.write { db in
      try db.execute(sql: "CREATE TABLE notes (id INTEGER PRIMARY KEY, tags BLOB NOT NULL)")
      try db.execute(sql: "CREATE TABLE counts (id INTEGER PRIMARY KEY, \"values\" BLOB)")
    }
    return database
  }

  @Test("binary JSON is read without a function of SQLite")
  func reading() throws {
    try database().write { db in
      // The value is ["a", "b\"", "cccccccccccc"], with a raw text, and with a size in the byte after the header.
      try db.execute(
        sql: "INSERT INTO notes VALUES (1, x'CB1317612A6222C70C636363636363636363636363')")
      #expect(try Memo.fetchAll(db) == [Memo(id: 1, tags: ["a", "b\"", "cccccccccccc"])])
      // The values are {"k": 1.5} and NULL.
      try db.execute(sql: "INSERT INTO counts VALUES (1, x'6C176B35312E35'), (2, NULL)")
      #expect(try Count.fetchAll(db) == [Count(id: 1, values: ["k": 1.5]), Count(id: 2, values: nil)])
    }
  }

  @Test("texts are read whose sizes take one, two, four and eight bytes")
  func sizes() throws {
    try database().write { db in
      for (code, width, count) in [(12, 1, 200), (13, 2, 300), (14, 4, 70_000), (15, 8, 5)] {
        let size = (0..<width).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        let text = [UInt8(code << 4 | 7)] + size + [UInt8](repeating: UInt8(ascii: "x"), count: count)
        let length = (0..<4).reversed().map { UInt8(truncatingIfNeeded: text.count >> ($0 * 8)) }
        try db.execute(sql: "INSERT OR REPLACE INTO notes VALUES (1, ?)", arguments: [Data([0xEB] + length + text)])
        #expect(try Memo.fetchAll(db) == [Memo(id: 1, tags: [String(repeating: "x", count: count)])])
      }
    }
  }

  @Test("bytes that aren't binary JSON are an error that names the column")
  func corrupted() throws {
    try database().write { db in
      for bytes in ["", "FF", "4B1761", "CC", "0B00", "1F00"] {
        try db.execute(sql: "INSERT OR REPLACE INTO notes VALUES (1, x'\(bytes)')")
        #expect(throws: ColumnDecodingError.self) { try Memo.fetchAll(db) }
      }
    }
  }

  @Test("a SQLite with JSONB writes it, and one without refuses it and says what to do")
  func writing() throws {
    let note = Memo(id: 1, tags: ["a", "b"])
    try database().write { db in
      if sqlite3_libversion_number() >= 3_045_000 {
        try Memo.insert { note }.execute(db)
        #expect(try Memo.fetchAll(db) == [note])
      } else {
        for insert in [{ try Memo.insert { note }.execute(db) }, { try db.seed { note } }] {
          let error = try #require(throws: DatabaseError.self, performing: insert)
          #expect(error.message?.contains("JSONB needs SQLite 3.45") == true)
        }
      }
    }
  }
}
