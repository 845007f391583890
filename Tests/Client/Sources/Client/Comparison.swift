import Foundation
import Observation
import SQLiteData

// "Comparison with SwiftData"

enum Comparison {
  // Defining your schema
  @Table
  struct Item {
    let id: UUID
    var title = ""
    var isInStock = true
    var notes = ""
  }

  // Fetching data for a view
  struct ItemsView {
    @FetchAll(Item.order(by: \.title))
    var items

    @FetchOne(Item.where(\.isInStock).count())
    var inStockItemsCount = 0
  }

  // Fetching data for an @Observable model
  @Observable
  final class FeatureModel {
    @ObservationIgnored
    @FetchAll(Item.order(by: \.title)) var items
    @ObservationIgnored
    @FetchOne var first: Item?
  }

  // Dynamic queries
  final class SearchModel {
    var searchText = ""
    @FetchAll var items: [Item]

    func updateSearchQuery() async throws {
      try await $items.load(
        Item.where {
          $0.title.contains(searchText)
        }
      )
    }
  }

  // Creating, updating and deleting data
  static func write(_ existing: Item) throws {
    @Dependency(\.defaultDatabase) var database
    var existingItem = existing
    try database.write { db in
      try Item.insert { existing }
        .execute(db)
    }
    existingItem.title = "Computer"
    try database.write { [existingItem] db in
      try Item.update(existingItem).execute(db)
    }
    try database.write { [existingItem] db in
      try Item.delete(existingItem).execute(db)
    }
  }

  // Associations
  @Table
  struct Sport: Identifiable {
    let id: Int
    var name = ""
  }
  @Table
  struct Team: Identifiable {
    let id: Int
    var sportID: Sport.ID
  }
  @Selection
  struct SportWithTeamCount {
    let sport: Sport
    let teamCount: Int
  }
  final class SportsModel {
    @FetchAll(
      Sport
        .group(by: \.id)
        .leftJoin(Team.all) { $0.id.eq($1.sportID) }
        .select {
          SportWithTeamCount.Columns(sport: $0, teamCount: $1.count())
        }
    )
    var sportsWithTeamCounts
  }

  // Booleans and enums
  @Table
  struct Reminder {
    var isCompleted = false
    var priority: Priority?
    enum Priority: Int, QueryBindable {
      case low, medium, high
    }
  }
  final class PriorityModel {
    @FetchAll(
      Reminder
        .where { $0.priority == Priority.high }
        .order(by: \.isCompleted)
    )
    var reminders
    typealias Priority = Reminder.Priority
  }

  // Migrations
  static func migrate(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("Create 'items' table") { db in
      try #sql(
        """
        CREATE TABLE "items" (
          "id" INTEGER PRIMARY KEY AUTOINCREMENT,
          "title" TEXT NOT NULL,
          "isInStock" INTEGER NOT NULL DEFAULT 1
        )
        """
      )
      .execute(db)
    }
    migrator.registerMigration("Add 'description' column to 'items'") { db in
      try #sql(
        """
        ALTER TABLE "items"
        ADD COLUMN "description" TEXT
        """
      )
      .execute(db)
    }
    migrator.registerMigration("Make 'title' unique") { db in
      try Item
        .delete()
        .where {
          !$0.id.in(
            Item
              .select { $0.id.min() }
              .group(by: \.title)
          )
        }
        .execute(db)
      try #sql(
        """
        CREATE UNIQUE INDEX
        "items_title" ON "items" ("title")
        """
      )
      .execute(db)
    }
  }
}
