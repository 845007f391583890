import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import SQLiteData
import Testing

@SQLiteData.Table private struct Page: Equatable {
  let id: Int
  var text = ""
  var note: String?
}

@SQLiteData.Table private struct Link: Equatable {
  let id: Int
  var pageID = 0
}

@Suite("Seeding")
struct SeedTests {
  private let database: DatabaseQueue

  init() throws {
    database = try DatabaseQueue()
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE pages (id INTEGER PRIMARY KEY, text TEXT NOT NULL, note TEXT);
          CREATE TABLE links (id INTEGER PRIMARY KEY, pageID INTEGER NOT NULL REFERENCES pages);
          """)
    }
  }

  @Test("texts of every length arrive unchanged, including several long ones in a row")
  func texts() throws {
    let long = String(repeating: "ä", count: 6_000)
    let texts = ["", "a", "fifteen bytes!!", "sixteen bytes!!!", "nul\0inside", "🙂é", long, long + "x"]
    try database.write { db in
      try db.seed {
        for (index, text) in texts.enumerated() { Page(id: index + 1, text: text, note: index % 2 == 0 ? text : nil) }
      }
      let pages = try Page.order(by: \.id).fetchAll(db)
      #expect(pages.map(\.text) == texts)
      #expect(pages.map(\.note) == texts.enumerated().map { $0.offset % 2 == 0 ? $0.element : nil })
      #expect(
        try Page.order(by: \.id).select { $0.text.cast(as: [UInt8].self) }.fetchAll(db) == texts.map { Array($0.utf8) })
    }
  }

  @Test("rows of several types are inserted in the order in which they are listed")
  func order() throws {
    try database.write { db in
      let extra = [Page.Draft(text: "c"), Page.Draft(text: "d")]
      try db.seed {
        for id in 1...3 {
          Page(id: id, text: "\(id)")
          Link.Draft(pageID: id)
        }
        extra
        if extra.isEmpty { Link.Draft(pageID: 9) } else { Link.Draft(pageID: 5) }
      }
      #expect(try Link.order(by: \.id).select(\.pageID).fetchAll(db) == [1, 2, 3, 5])
      #expect(try Page.fetchCount(db) == 5)
    }
  }

  @Test("inserts with the same beginning are distinguished")
  func inserts() throws {
    try database.write { db in
      try Page.insert { Page(id: 1, text: "a", note: "n") }.execute(db)
      try Page.insert(or: .replace) { Page(id: 1, text: "b") }.execute(db)
      try Page.insert {
        Page(id: 1, text: "c")
      } onConflictDoUpdate: {
        $0.text = $1.text
      }
      .execute(db)
      // It isn't inside of #expect, because the compiler would confuse its closures with those that follow.
      let added = Page.insert { Page(id: 2, text: "d") }.returning(\.id)
      #expect(try added.fetchAll(db) == [2])
      try Page.insert {
        Page(id: 3, text: "e")
        Page(id: 4, text: "f")
      }
      .execute(db)
      try Page.insert {
        ($0.id, $0.text, $0.note)
      } values: {
        (5, "g", "?")
      }
      .execute(db)
      try Page.insert { Page.Draft(text: "h") }.execute(db)
      let pages = try Page.order(by: \.id).fetchAll(db)
      #expect(pages.map(\.text) == ["c", "d", "e", "f", "g", "h"])
      #expect(pages.map(\.note) == [nil, nil, nil, nil, "?", nil])
    }
  }

  @Test("a row that is refused ends the seeding with its error")
  func refused() throws {
    #expect(throws: DatabaseError.self) {
      try database.write { db in
        try db.seed {
          Page(id: 1, text: "a")
          Link(id: 1, pageID: 7)
          Page(id: 2, text: "b")
        }
      }
    }
    #expect(try database.read { db in try Page.fetchCount(db) } == 0)
  }
}
