package import GRDB
import MeshCore

// MARK: - What an app's own connection reads of the records

extension Store {
  /// Creates the tables of mesh in a file that has none, so that an app can read them before the first start of its node. In
  /// other files it creates the app's own tables, which an earlier version of mesh doesn't create.
  package static func createTables(_ db: Database) throws {
    guard try !MeshTables.exist(db) else {
      for sql in [MeshTables.app, MeshTables.appDevice] { try db.execute(sql: sql) }
      return
    }
    try MeshTables.create(db)
    for sql in MeshTables.replication + MeshTables.indexes { try db.execute(sql: sql) }
  }
}

extension Store {
  /// Drops all that mesh has created in a file, and nothing else: an app's own tables may have names that begin with `mesh_`.
  package static func dropTables(_ db: Database) throws {
    let triggers = try String.fetchAll(
      db,
      sql: "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND (name GLOB ? || '*' OR name GLOB ? || '*')",
      arguments: [CaptureTriggers.prefix, PermissionTriggers.prefix])
    for trigger in triggers { try db.execute(sql: "DROP TRIGGER main.\(trigger.quotedName)") }
    try db.execute(sql: "DROP VIEW IF EXISTS main.mesh_anchor")
    let creation = "CREATE TABLE IF NOT EXISTS "
    for sql in MeshTables.all + MeshTables.replication where sql.hasPrefix(creation) {
      try db.execute(sql: "DROP TABLE IF EXISTS main.\(sql.dropFirst(creation.count).prefix { $0 != " " })")
    }
  }

  /// The message of a statement that gives the root of a share another key.
  package static var rootRefusal: String { CaptureTriggers.rootRefusal }
}

/// The stamps of a record, for the functions of an app's connection.
package struct RecordFacts {
  private let stamps: RecordStamps

  /// Creates the facts from `mesh_record.stamps`, or returns nil if the bytes are no stamps.
  package init?(stamps bytes: [UInt8]) {
    guard let stamps = try? RecordStamps(bytes) else { return nil }
    self.stamps = stamps
  }

  private var all: [LocalStamp] { [stamps.base] + stamps.exceptions.map(\.stamp) + [stamps.life].compactMap(\.self) }

  /// The time of the last write, in milliseconds since 1970.
  package var lastWrite: Int64 { all.map(\.time.noted.milliseconds).max() ?? 0 }

  /// How much of the record a device has.
  package enum Reach: Int64 {
    /// Nothing, as far as this device knows.
    case none
    /// A version of it.
    case some
    /// The record as it is here.
    case all
  }

  /// The number that stands for all authors without a time of their own. A record that moved to another zone has
  /// values of authors that wrote nothing in the new zone.
  package static let otherAuthors: Int64 = 0

  /// - Parameter times: The hybrid times up to which the device has the changes of authors, by `mesh_author.id`.
  package func reach(_ times: [Int64: UInt64]) -> Reach {
    let has = all.map { stamp in
      (times[stamp.author] ?? times[Self.otherAuthors]).map { stamp.time.noted.value <= $0 } ?? false
    }
    return has.allSatisfy(\.self) ? .all : has.contains(true) ? .some : .none
  }
}

extension HeldReason {
  /// An SQL expression with the name of a reason.
  package static func nameSQL(_ number: String) -> String {
    "CASE \(number) \(allCases.map { "WHEN \($0.rawValue) THEN '\($0.name)'" }.joined(separator: " ")) END"
  }
}
