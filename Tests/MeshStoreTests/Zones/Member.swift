import Foundation
import GRDB
import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// A device that takes part in several zones.
final class Member {
  static let schema = """
    CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL, title TEXT);
    CREATE TABLE reminders (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists ON DELETE CASCADE, title TEXT,
      done INTEGER DEFAULT 0);
    CREATE TABLE steps (id TEXT PRIMARY KEY NOT NULL, reminder TEXT REFERENCES reminders ON DELETE CASCADE, title TEXT);
    CREATE TABLE tags (id TEXT PRIMARY KEY NOT NULL, title TEXT);
    CREATE TABLE taggings (id TEXT PRIMARY KEY NOT NULL, reminder TEXT NOT NULL REFERENCES reminders ON DELETE CASCADE,
      tag TEXT NOT NULL REFERENCES tags ON DELETE CASCADE);
    CREATE TABLE covers (id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES lists ON DELETE CASCADE, image TEXT);
    """
  static let tables = ["lists", "reminders", "steps", "tags", "taggings"]
  static let privateTables = ["covers"]

  static func zone(_ number: UInt8) -> ZoneID { ZoneID([UInt8](repeating: number, count: 32)).unsafe }

  let path: String
  let keys: DeviceKeys
  let cryptography: Sodium
  var store: Store
  var now: Int64 = 1_800_000_000_000
  let other: DatabaseQueue
  var device: DeviceID { DeviceID(keys.signingKey).unsafe }
  private let seed: UInt8
  private(set) var standings: [ZoneStanding] = []
  private(set) var deletedRoots: Set<ZoneID> = []
  var cuts: [ZoneID: [Author: UInt64]] = [:]
  /// Zones whose key is not here.
  var lacking: Set<ZoneID> = []

  init(_ seed: UInt8, _ standings: [ZoneStanding], foreignKeys: Bool = true) throws {
    self.seed = seed
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appendingPathComponent("a.db").path
    keys = DeviceKeys(randomness: Seeded(seed: seed))
    cryptography = try Sodium()
    store = try Store(path: path, cryptography: cryptography)
    var configuration = Configuration()
    configuration.foreignKeysEnabled = foreignKeys
    configuration.busyMode = .timeout(5)
    other = try DatabaseQueue(path: path, configuration: configuration)
    store.control.setAccounts(Accounts(), device: device)
    try run(Self.schema)
    try store.tables.track(tables: Self.tables, private: Self.privateTables, integerKeys: false, now: now)
    try stand(standings)
  }

  deinit {
    try? other.close()
    try? store.close()
    try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
  }

  func stand(_ standings: [ZoneStanding]) throws {
    self.standings = standings
    try store.zones.setStandings(standings)
    for standing in standings where try store.zones.instance(standing.zone) == nil {
      // A device is another author in each zone.
      try store.zones.beginInstance(InstanceID(UInt64(seed) << 8 | UInt64(standing.zone.bytes[0])), zone: standing.zone)
    }
  }

  /// Changes one of them, or adds it.
  func stand(_ standing: ZoneStanding) throws { try stand(standings.filter { $0.zone != standing.zone } + [standing]) }

  func author(_ zone: ZoneID) throws -> Author {
    Author(device: device, instance: try store.zones.instance(zone).unsafe)
  }

  func writers() throws -> [ZoneID: ChangeSetWriter] {
    var writers: [ZoneID: ChangeSetWriter] = [:]
    for standing in standings where standing.mayWrite && !lacking.contains(standing.zone) {
      writers[standing.zone] = ChangeSetWriter(
        zone: standing.zone, author: try author(standing.zone), epoch: Peer.epoch, key: Peer.key, secrets: keys,
        cryptography: cryptography)
    }
    return writers
  }

  func reader(_ zone: ZoneID) -> ChangeSetReader {
    ChangeSetReader(keys: [Peer.epoch: Peer.key], cuts: cuts[zone] ?? [:], cryptography: cryptography)
  }

  /// As another program does it.
  func run(_ sql: String) throws { try other.write { try $0.execute(sql: sql) } }

  func rows(_ sql: String) throws -> [String] {
    try other.read { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map { $0.isNull ? "NULL" : String.fromDatabaseValue($0) ?? "\($0)" }.joined(separator: "|")
      }
    }
  }

  /// Every row of every table.
  func contents() throws -> [String] {
    try (Self.tables + Self.privateTables).flatMap { table in
      try rows("SELECT '\(table)', * FROM \(table) ORDER BY id")
    }
  }

  /// Live records of a zone, as table and key.
  func records(_ zone: ZoneID) throws -> [String] {
    try rows(
      """
      SELECT t.name || ' ' || r.key FROM mesh_record r JOIN mesh_table t ON t.id = r.tbl JOIN mesh_zone z ON z.id = r.zone
      WHERE z.zone = x'\(zone.bytes.map { String(format: "%02x", $0) }.joined())' AND r.generation & 1 ORDER BY 1
      """)
  }

  func held() throws -> [String: HeldReason] {
    Dictionary(
      try store.held.list(limit: 1_000).map { ("\($0.table) \($0.key)", $0.reason) }, uniquingKeysWith: { $1 })
  }

  /// Flushes until nothing is left.
  func settle() throws {
    now += 10
    for _ in 0..<10_000 {
      upkeep: for _ in 0..<1_000 {
        switch try store.capture.upkeep(reader, now: now) {
        case .done, .flushFirst: break upkeep
        case .worked, .schemaChanged: continue
        }
      }
      let progress = try store.localWrites.flush(try writers(), now: now)
      deletedRoots.formUnion(progress.deletedRoots)
      if !progress.hasMore { return }
    }
    throw Stuck()
  }

  /// One step of `settle`; true where more is to do.
  func step() throws -> Bool {
    while case .worked = try store.capture.upkeep(reader, now: now) {}
    let progress = try store.localWrites.flush(try writers(), now: now)
    deletedRoots.formUnion(progress.deletedRoots)
    return progress.hasMore
  }

  /// Flushes until records have arrived in their new zones, and have not left the old ones.
  func arrive() throws {
    now += 10
    while try !rows("SELECT 1 FROM mesh_pending WHERE op = 5").contains("1") { #expect(try step()) }
  }

  func apply(_ zone: ZoneID) throws {
    for _ in 0..<10_000 {
      switch try store.merges.apply(zone, reader(zone), flushing: writers(), now: now) {
      case .idle: return
      case .merged: continue
      case .flushFirst: try settle()
      }
    }
    throw Stuck()
  }

  /// Stores and merges what another has of a zone.
  func pull(_ zone: ZoneID, from source: Member) throws {
    try store(of: zone, from: source)
    try apply(zone)
  }

  func store(of zone: ZoneID, from source: Member) throws {
    var position: Int64 = 0
    while true {
      let batch = try source.store.log.changeSets(
        zone, beyond: store.log.storedVector(zone), of: nil, after: position, maximumBytes: 4 << 20)
      let changeSets = try batch.changeSets.map { try ChangeSet($0, with: cryptography) }
      _ = try store.log.store(changeSets, zone: zone, now: now)
      position = batch.position
      if batch.isComplete { break }
    }
    now = max(now, source.now)
  }

  /// Opens the file again, as after a crash.
  func reopen() throws {
    try store.close()
    store = try Store(path: path, cryptography: cryptography)
    store.control.setAccounts(Accounts(), device: device)
    deletedRoots = []
    try store.zones.setStandings(standings)
  }

  func drop(_ zone: ZoneID, keepingCopy: Bool = false, unsent: [Author: UInt64] = [:]) throws {
    for _ in 0..<10_000 {
      if try !store.zones.dropZone(zone, keepingCopy: keepingCopy, unsent: unsent, now: now) { return }
    }
    throw Stuck()
  }
}

/// Everybody learns everything of the zones that both are in, until nothing moves.
func converge(_ members: [Member], _ zones: (Member) -> [ZoneID] = { $0.standings.map(\.zone) }) throws {
  for _ in 0..<12 {
    let before = try members.map { member in try zones(member).map { try member.store.log.mergedVector($0) } }
    for member in members { try member.settle() }
    for a in members {
      for b in members where a !== b {
        for zone in zones(a) where zones(b).contains(zone) { try a.pull(zone, from: b) }
      }
    }
    for member in members { try member.settle() }
    if try members.map({ member in try zones(member).map { try member.store.log.mergedVector($0) } }) == before {
      return
    }
  }
  throw Stuck()
}
