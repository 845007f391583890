import Foundation
import SQLiteData

// The quick reference and the patterns of the third-party guide

enum QuickReference {
  @Table nonisolated struct Item: Identifiable {
    let id: UUID
    var title = ""
    var notes: String?
    var isInStock = true
    var price = 0.0
    var status = Status.open
    var createdAt = Date(timeIntervalSinceReferenceDate: 0)
    var dueDate: Date?
    var isCompleted = false
    @Column(as: Color.HexRepresentation.self)
    var color: Color = .blue
    @Ephemeral var isSelected = false
    @Ephemeral var formattedPrice: String { "$\(price)" }

    enum Status: String, QueryBindable { case open, done }
  }

  // Custom Primary Key
  @Table
  nonisolated struct Tag: Hashable, Identifiable {
    @Column(primaryKey: true)
    var title: String
    var id: String { title }
  }

  static func examples(_ db: Database, id: Item.ID, ids: [Item.ID]) throws {
    _ = try Item.fetchAll(db)
    _ = try Item.find(db, key: id)
    try Item.insert { Item.Draft(title: "New") }.execute(db)
    _ = try Item.insert { Item.Draft(title: "New Item") }.returning(\.id).fetchOne(db)
    try Item.insert {
      ($0.title, $0.isInStock)
    } values: {
      [("A", true), ("B", false)]
    }
    .execute(db)
    try Item.find(id).update { $0.title = #bind("Updated") }.execute(db)
    try Item.where(\.isInStock).update { $0.notes = #bind("") }.execute(db)
    try Item.find(id).update { $0.title += "!" }.execute(db)
    try Item.find(id).delete().execute(db)
    try Item.where { $0.id.in(ids) }.delete().execute(db)
    _ = Item.where { $0.title.contains("phone") }
    _ = Item.where { $0.title.hasPrefix("iPhone") }
    _ = Item.where { $0.status.eq(#bind(.done)) }
    _ = Item.order { ($0.price, $0.createdAt.desc()) }
    _ = Item.order { $0.createdAt.desc() }.limit(10, offset: 20)
    let minPrice = 1.0
    let tableName = "items"
    try #sql("SELECT * FROM items WHERE price > \(minPrice)").execute(db)
    try #sql("SELECT * FROM \(raw: tableName)").execute(db)
    _ = try Item.where { $0.isPastDue }.fetchAll(db)
    _ = try Item.find(id).fetchOne(db)
    _ = try Item.where(\.isInStock).find(db, key: id)
    _ = Item.where { $0.status == .done }
    _ = Item.where { $0.createdAt < Date() && !$0.isCompleted }
    _ = Item.limit(10).offset(20)
  }

  // Upsert, with and without a partial unique index
  @Table
  nonisolated struct Copy: Identifiable {
    let id: UUID
    var libraryID = 0
    var remoteID: String?
    var name: String?
    var notes: String?
  }

  static func upsert(_ db: Database, _ item: Copy) throws {
    try Copy.insert {
      item
    } onConflict: { cols in
      (cols.libraryID, cols.remoteID)
    } doUpdate: { row, excluded in
      row.name = excluded.name
      row.notes = excluded.notes
    }
    .execute(db)
    try Copy.insert {
      item
    } onConflict: { cols in
      (cols.libraryID, cols.remoteID)
    } where: { cols in
      cols.remoteID.isNot(nil)
    } doUpdate: { row, excluded in
      row.name = excluded.name.ifnull(row.name)
      row.notes = excluded.notes.ifnull(row.notes)
    }
    .execute(db)
  }

  // Lifecycle-aware fetching
  static func search(_ items: FetchAll<Item>, _ searchQuery: String) async {
    try? await items.load(
      Item.where { $0.title.contains(searchQuery) }
        .order(by: \.title)
    ).task
    Task { try await items.load(Item.none) }
  }
}

// Register in Dependencies
extension DependencyValues {
  var guideDatabase: any DatabaseWriter {
    get { self[GuideDatabaseKey.self] }
    set { self[GuideDatabaseKey.self] = newValue }
  }
}

private enum GuideDatabaseKey: DependencyKey {
  static let liveValue: any DatabaseWriter = {
    try! appDatabase()
  }()
}

nonisolated extension QuickReference.Item.TableColumns {
  var isPastDue: some QueryExpression<Bool> {
    @Dependency(\.date.now) var now
    return !isCompleted && #sql("coalesce(date(\(dueDate)) < date(\(now)), 0)")
  }
}

struct Color: Equatable, Sendable {
  var red: UInt8
  var green: UInt8
  var blue: UInt8
  static let blue = Color(red: 0, green: 0, blue: 255)

  /// A color as the integer that its hexadecimal notation writes.
  struct HexRepresentation: QueryBindable {
    var queryOutput: Color
    init(queryOutput: Color) { self.queryOutput = queryOutput }
    init(decoder: inout some QueryDecoder) throws {
      let value = try decoder.required(Int.self)
      queryOutput = Color(
        red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
        blue: UInt8(truncatingIfNeeded: value))
    }
    var queryBinding: QueryBinding {
      .int(Int64(queryOutput.red) << 16 | Int64(queryOutput.green) << 8 | Int64(queryOutput.blue))
    }
  }
}
