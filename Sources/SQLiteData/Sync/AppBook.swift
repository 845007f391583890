import Foundation
import GRDB
import MeshControl
import MeshCore
import MeshStore
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

  private struct Device: Hashable {
    var account: String
    /// The hybrid times up to which the device has the changes of authors, by `mesh_author.id`.
    var times: [Int64: UInt64]
  }

  private struct Entry: Hashable {
    var share: String?
    /// The other devices with the zone, by id.
    var devices: [String: Device] = [:]
  }

  private struct Zone {
    let number: Int64
    let id: String
    /// The authors of the zone, each with its device and the hybrid time of its last merged change set.
    var heads: [(author: Int64, device: String?, time: UInt64)] = []
    /// The entry that is in the file now. The first check writes it for a new zone.
    var entry: Entry?
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
    let changes = zones.compactMap { zone -> (Zone, Entry)? in
      let share = shares.first { $0.id == zone.id }
      let entry = Entry(share: share?.json, devices: devices(of: zone, share, status))
      return entry == zone.entry ? nil : (zone, entry)
    }
    if !changes.isEmpty {
      do {
        try await database.write { db in
          for (zone, entry) in changes { try write(entry, before: zone.entry, zone.number, db) }
        }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
        // Another program is writing for long. The next check finds the same difference.
      }
    }
    return Answer(status: status, shares: shares, ended: ended)
  }

  /// Returns the other devices with a zone.
  private static func devices(of zone: Zone, _ share: Share?, _ status: StatusReport) -> [String: Device] {
    let members = Set(share?.participants.map(\.id) ?? [])
    // Devices of other accounts stay known while they aren't connected. Those of this account are always listed.
    var devices = zone.entry?.devices.filter { members.contains($1.account) && $1.account != status.account } ?? [:]
    for peer in status.peers {
      let hasAcknowledged = peer.acknowledgedZones?.contains(zone.id) == true
      guard let id = peer.device, let account = peer.account, account == status.account || hasAcknowledged else {
        continue
      }
      var device = Device(account: account, times: zone.entry?.devices[id]?.times ?? [:])
      let hasAll = hasAcknowledged && peer.behind.there == 0
      for head in zone.heads where hasAll || head.device == id { device.times[head.author] = head.time }
      if hasAll { device.times[RecordFacts.otherAuthors] = zone.heads.map(\.time).max() }
      devices[id] = device
    }
    return devices
  }

  private static func write(_ entry: Entry, before: Entry?, _ zone: Int64, _ db: Database) throws {
    if before == nil || before?.share != entry.share {
      try db.execute(
        sql: "INSERT OR REPLACE INTO mesh_app (zone, share) VALUES (?, ?)", arguments: [zone, entry.share])
    }
    for (id, device) in entry.devices where before?.devices[id] != device {
      let times = device.times.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
      try db.execute(
        sql: "INSERT OR REPLACE INTO mesh_app_device (zone, device, account, acknowledged) VALUES (?, ?, ?, ?)",
        arguments: [zone, id, device.account, times])
    }
    for id in before?.devices.keys.filter({ entry.devices[$0] == nil }) ?? [] {
      try db.execute(sql: "DELETE FROM mesh_app_device WHERE zone = ? AND device = ?", arguments: [zone, id])
    }
  }

  private static func zones(_ db: Database) throws -> [Zone] {
    var zones: [Int64: Zone] = [:]
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT z.id, z.zone, a.zone IS NOT NULL AS known, a.share
        FROM mesh_zone z LEFT JOIN mesh_app a ON a.zone = z.id
        """)
    for row in rows {
      guard let id = ZoneID(Array(row["zone"] as Data)) else { continue }
      let number: Int64 = row["id"]
      zones[number] = Zone(
        number: number, id: id.description, entry: row["known"] ? Entry(share: row["share"]) : nil)
    }
    for row in try Row.fetchAll(db, sql: "SELECT zone, device, account, acknowledged FROM mesh_app_device") {
      zones[row["zone"]]?.entry?.devices[row["device"]] = Device(
        account: row["account"], times: times(row["acknowledged"]))
    }
    let heads = try Row.fetchAll(
      db,
      sql: """
        SELECT h.zone, h.author, a.device, h.merged_time FROM mesh_head h JOIN mesh_author a ON a.id = h.author
        WHERE h.merged_time IS NOT NULL
        """)
    for row in heads {
      let time: Int64 = row["merged_time"]
      zones[row["zone"]]?.heads.append(
        (row["author"], DeviceID(Array(row["device"] as Data))?.description, UInt64(bitPattern: time)))
    }
    return Array(zones.values)
  }

  /// Returns the times of authors that a device has acknowledged, from their text in `mesh_app_device`.
  static func times(_ text: String) -> [Int64: UInt64] {
    let pairs = text.split(separator: ",").compactMap { pair -> (Int64, UInt64)? in
      let numbers = pair.split(separator: ":")
      guard numbers.count == 2, let author = Int64(numbers[0]), let time = UInt64(numbers[1]) else { return nil }
      return (author, time)
    }
    return Dictionary(pairs, uniquingKeysWith: max)
  }
}

extension Share {
  /// The JSON that `SyncMetadata` reads.
  fileprivate var json: String? {
    guard case .text(let text) = Self.JSONRepresentation(queryOutput: self).queryBinding else { return nil }
    return text
  }
}
