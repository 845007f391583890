import GRDB

// This file contains the code of the article that compares with GRDB.

func titlesByHand(_ db: Database) throws -> [(String, String)] {
  let rows = try Row.fetchAll(
    db,
    sql: """
      SELECT reminders.title, remindersLists.title AS listTitle
      FROM reminders JOIN remindersLists ON reminders.remindersListID = remindersLists.id
      WHERE remindersLists.title = ?
      """,
    arguments: ["Personal"])
  let pairs = rows.map { ($0["title"] as String, $0["listTitle"] as String) }
  return pairs
}
