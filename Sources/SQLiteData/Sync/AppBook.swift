import Foundation
import GRDB
import MeshControl
import MeshCore
import SQLiteDataQueries

/// The copy of a node's shares and acknowledgements in the app's file, which ``SyncMetadata`` reads.
///
/// Its questions run one after another, so that an earlier answer can't overwrite a later one.
actor AppBook {
  private let database: any DatabaseWriter
  private var last: Task<Answer, any Error>?

  init(database: any DatabaseWriter) { self.database = database }

  /// The answer of a node.
  struct Answer: Sendable {
    let status: StatusReport
    let shares: [Share]
    /// The ids of shares that have ended for this account.
    let ended: [String]
  }

  private struct Entry: Hashable {
    var acknowledged: Int64
    var share: String?
  }

  private struct Zone {
    let number: Int64
    let id: String
    /// The hybrid time of this device's last change set.
    let written: Int64
    let entry: Entry?
  }

  /// Asks a node, and writes the answer into the file if it has changed.
  func update(from control: any NodeControl) async throws -> Answer {
    let previous = last
    let task = Task { [database] in
      _ = await previous?.result
      return try await Self.update(database, from: control)
    }
    last = task
    return try await task.value
  }

  private static func update(_ database: any DatabaseWriter, from control: any NodeControl) async throws -> Answer {
    // The zones are read before the question. A device that has everything in the answer has all writes until now.
    let zones = try await database.read { db in try Self.zones(db) }
    let status = try await control.perform(StatusRequest())
    let isSharing = status.zones.count > 1 || zones.contains { $0.entry?.share != nil }
    let reports = try await isSharing || !status.ended.isEmpty ? control.perform(SharesRequest()).shares : []
    let shares = reports.compactMap { Share($0, account: status.account, accountName: status.accountName) }
    let ended = reports.map(\.id).filter { id in !shares.contains { $0.id == id } }
    let changes = zones.compactMap { zone -> (Int64, Entry)? in
      let share = shares.first { $0.id == zone.id }
      let isReached = status.peers.contains { peer in
        peer.behind.there == 0 && peer.acknowledgedZones?.contains(zone.id) == true
      }
      let before = zone.entry ?? Entry(acknowledged: 0, share: nil)
      let entry = Entry(acknowledged: isReached ? zone.written : before.acknowledged, share: share?.json)
      return entry == before ? nil : (zone.number, entry)
    }
    if !changes.isEmpty {
      do {
        try await database.write { db in
          for (zone, entry) in changes {
            try db.execute(
              sql: "INSERT OR REPLACE INTO mesh_app (zone, acknowledged, share) VALUES (?, ?, ?)",
              arguments: [zone, entry.acknowledged, entry.share])
          }
        }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
        // Another program is writing for long. The next check finds the same difference.
      }
    }
    return Answer(status: status, shares: shares, ended: ended)
  }

  private static func zones(_ db: Database) throws -> [Zone] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT z.id, z.zone, h.stored_time, a.acknowledged, a.share FROM mesh_zone z
          LEFT JOIN mesh_author w ON w.instance = z.instance
          LEFT JOIN mesh_head h ON h.zone = z.id AND h.author = w.id
          LEFT JOIN mesh_app a ON a.zone = z.id
        """)
    return rows.compactMap { row in
      guard let id = ZoneID(Array(row["zone"] as Data)) else { return nil }
      let acknowledged: Int64? = row["acknowledged"]
      return Zone(
        number: row["id"], id: id.description, written: row["stored_time"] ?? 0,
        entry: acknowledged.map { Entry(acknowledged: $0, share: row["share"]) })
    }
  }
}

extension Share {
  /// The JSON that `SyncMetadata` reads.
  fileprivate var json: String? {
    guard case .text(let text) = Self.JSONRepresentation(queryOutput: self).queryBinding else { return nil }
    return text
  }
}
