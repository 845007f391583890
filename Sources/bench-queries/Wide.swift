import Foundation
import GRDB
import SQLiteData

/// A row of twelve columns.
@SQLiteData.Table
struct Wide: Codable, Equatable, Sendable {
  let id: Int
  var title = ""
  var notes = ""
  var author = ""
  var isDone = false
  var isFlagged = false
  var priority: Int?
  var position = 0
  var price = 0.0
  var weight: Double?
  var listID = 0
  var rank = 0
}

extension Wide: FetchableRecord {
  static let databaseTableName = "wides"
  static let creation = """
    CREATE TABLE "wides" (
      "id" INTEGER PRIMARY KEY, "title" TEXT NOT NULL, "notes" TEXT NOT NULL, "author" TEXT NOT NULL,
      "isDone" INTEGER NOT NULL, "isFlagged" INTEGER NOT NULL, "priority" INTEGER, "position" INTEGER NOT NULL,
      "price" REAL NOT NULL, "weight" REAL, "listID" INTEGER NOT NULL, "rank" INTEGER NOT NULL)
    """
  static let selection = """
    SELECT "id", "title", "notes", "author", "isDone", "isFlagged", "priority", "position", "price", "weight", \
    "listID", "rank" FROM "wides"
    """

  init(sample id: Int) {
    self.init(
      id: id, title: "Title \(id)", notes: "Some longer notes about number \(id)", author: "Author \(id % 100)",
      isDone: id % 2 == 0, isFlagged: id % 3 == 0, priority: id % 4 == 0 ? nil : id % 4, position: id,
      price: Double(id) * 1.5, weight: id % 5 == 0 ? nil : 2.5, listID: id % 50, rank: id % 7)
  }
}

extension Wide {
  /// The values of ``CAPI/insertion``.
  var arguments: StatementArguments {
    [title, notes, author, isDone, isFlagged, priority, position, price, weight, listID, rank]
  }
}

/// The columns of the same table that hold numbers.
@SQLiteData.Table("wides")
struct WideNumbers {
  let id: Int
  var isDone = false
  var isFlagged = false
  var priority: Int?
  var price = 0.0
  var weight: Double?
  var listID = 0
  var rank = 0
}

/// The same row read by hand from GRDB's rows.
struct WideByHand: FetchableRecord {
  var wide: Wide

  init(row: Row) {
    wide = Wide(
      id: row[0], title: row[1], notes: row[2], author: row[3], isDone: row[4], isFlagged: row[5], priority: row[6],
      position: row[7], price: row[8], weight: row[9], listID: row[10], rank: row[11])
  }
}

@SQLiteData.Table("lists")
struct WideList: Sendable {
  let id: Int
  var title = ""
}

@SQLiteData.Table("owners")
struct WideOwner: Sendable {
  let id: Int
  var listID = 0
}

@SQLiteData.Table("members")
struct WideMember: Sendable {
  let id: Int
  var ownerID = 0
  var name = ""
}
