import Foundation
import GRDB
import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// Fixed bytes for keys and ids: the same on every run.
struct Seeded: Randomness {
  let seed: UInt8
  func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed &* 31 } }
}

/// One device with a database of its own, and a zone that all peers share.
final class Peer {
  static let zone = ZoneID([UInt8](repeating: 7, count: 32)).unsafe
  static let epoch = EpochID([UInt8](repeating: 9, count: 32)).unsafe
  static let key = EpochKey([UInt8](repeating: 3, count: 32)).unsafe

  let path: String
  let keys: DeviceKeys
  private(set) var author: Author
  let cryptography: Sodium
  let staging: any AssetStaging
  var store: Store
  var now: Int64 = 1_800_000_000_000
  /// Another program's connection to the same file.
  let other: DatabaseQueue
  var cuts: [Author: UInt64] = [:]

  /// - Parameter begins: False where no zone is known yet.
  init(
    _ seed: UInt8, schema: String = "", track: [String] = [], foreignKeys: Bool = false, integerKeys: Bool = true,
    begins: Bool = true, isUTF16: Bool = false, staging: any AssetStaging = MemoryStaging()
  ) throws {
    self.staging = staging
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appendingPathComponent("a.db").path
    keys = DeviceKeys(randomness: Seeded(seed: seed))
    author = Author(device: DeviceID(keys.signingKey).unsafe, instance: InstanceID(UInt64(seed)))
    cryptography = try Sodium()
    // The first table fixes the file's encoding.
    if isUTF16 {
      try DatabaseQueue(path: path).writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA encoding = 'UTF-16le'; CREATE TABLE first (id); DROP TABLE first")
      }
    }
    store = try Store(path: path, cryptography: cryptography, staging: staging)
    store.control.setAccounts(Accounts(), device: author.device)
    var configuration = Configuration()
    configuration.foreignKeysEnabled = foreignKeys
    configuration.busyMode = .timeout(5)
    other = try DatabaseQueue(path: path, configuration: configuration)
    if !schema.isEmpty { try run(schema) }
    if begins { try store.zones.beginInstance(author.instance, zone: Self.zone) }
    if !track.isEmpty { try store.tables.track(tables: track, integerKeys: integerKeys, now: now) }
  }

  deinit {
    try? other.close()
    try? store.close()
    try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
  }

  /// Writes on as another instance.
  func renew(_ instance: InstanceID, sentThrough: Int64? = nil) throws {
    author = Author(device: author.device, instance: instance)
    try store.zones.beginInstance(instance, zone: Self.zone, sentThrough: sentThrough)
  }

  var writer: ChangeSetWriter {
    ChangeSetWriter(
      zone: Self.zone, author: author, epoch: Self.epoch, key: Self.key, secrets: keys, cryptography: cryptography)
  }

  var reader: ChangeSetReader { ChangeSetReader(keys: [Self.epoch: Self.key], cuts: cuts, cryptography: cryptography) }

  /// As another program does it, with capture.
  func run(_ sql: String) throws { try other.write { try $0.execute(sql: sql) } }

  func rows(_ sql: String) throws -> [String] {
    try other.read { db in
      try Row.fetchAll(db, sql: sql).map { row in row.databaseValues.map(\.description).joined(separator: "|") }
    }
  }

  /// Flushes until nothing is left. Returns the number of calls that wrote a change set.
  @discardableResult
  func flush() throws -> Int {
    now += 10
    var written = 0
    for _ in 0..<10_000 {
      try upkeep()
      let progress = try store.localWrites.flush(writer, now: now)
      if progress.head != nil { written += 1 }
      if !progress.hasMore { return written }
    }
    throw Stuck()
  }

  /// Brings triggers and records in step with the schema, as far as it goes without a flush. Returns what a person is told;
  /// nil where the schema had not changed.
  @discardableResult
  func upkeep() throws -> [String]? {
    var notices: [String]?
    for _ in 0..<10_000 {
      switch try store.capture.upkeep({ _ in reader }, now: now) {
      case .done, .flushFirst: return notices
      case .schemaChanged(let found): notices = (notices ?? []) + found
      case .worked: continue
      }
    }
    throw Stuck()
  }

  /// Merges until nothing can be; flushes where that comes first.
  @discardableResult
  func apply() throws -> [WaitingReason: Int] {
    for _ in 0..<100_000 {
      switch try store.merges.apply(Self.zone, reader, now: now) {
      case .idle(let waiting): return waiting
      case .merged: continue
      case .flushFirst: try flush()
      }
    }
    throw Stuck()
  }

  /// Everything that `source` has merged and this one lacks is stored here.
  @discardableResult
  func receive(from source: Peer) throws -> [StoreOutcome] {
    var position: Int64 = 0
    var outcomes: [StoreOutcome] = []
    while true {
      let batch = try source.store.log.changeSets(
        Self.zone, beyond: store.log.storedVector(Self.zone), of: nil, after: position, maximumBytes: 4 << 20)
      let changeSets = try batch.changeSets.map { try ChangeSet($0, with: cryptography) }
      outcomes += try store.log.store(changeSets, zone: Self.zone, now: now)
      position = batch.position
      if batch.isComplete { return outcomes }
    }
  }

  /// Everything but the chunks of assets.
  func learn(from source: Peer) throws {
    try source.flush()
    try receive(from: source)
    now = max(now, source.now)
    try apply()
  }

  /// Flush there, store and merge here.
  func pull(from source: Peer) throws {
    try learn(from: source)
    try fetch(from: source)
  }

  /// Takes the chunks that rows here wait for, and puts complete assets in place. Returns how many came.
  @discardableResult
  func fetch(from source: Peer) throws -> Int {
    var came = 0
    while true {
      let before = came
      for want in try store.assets.wantedAssets(limit: 64) {
        for index in 0..<want.staged.count where !want.staged.contains(index) {
          guard let bytes = try source.store.assets.chunk(index, of: want.asset.id, zone: Self.zone) else { continue }
          guard case .staged = try store.assets.stage(bytes, chunk: index, of: want.asset.id) else { continue }
          came += 1
        }
      }
      let isPlaced = try store.assets.placeAssets(now: now)
      if !isPlaced, came == before { return came }
    }
  }

  func digest() throws -> ZoneDigest { try store.zones.digest(Self.zone) }

  /// Makes this device's account own a share that has no records, so that each row's zone has to be found.
  func standBesideShare() throws {
    let share = try #require(ZoneID([UInt8](repeating: 77, count: 32)))
    try store.zones.setStandings([
      ZoneStanding(zone: Self.zone, role: .privateZone),
      ZoneStanding(zone: share, role: .owned, root: RecordName(table: "t", key: .text(Array("none".utf8)))),
    ])
  }

  /// Opens the file again, as after a crash.
  func reopen() throws {
    try store.close()
    store = try Store(path: path, cryptography: cryptography, staging: staging)
    store.control.setAccounts(Accounts(), device: author.device)
  }
}

extension StoreFlushes {
  /// Where there is one zone.
  func flush(_ writer: ChangeSetWriter, now: Int64) throws -> FlushProgress {
    try flush([writer.zone: writer], now: now)
  }
}

struct Stuck: Error {}

extension Optional {
  /// A test's fixture that cannot be nil.
  var unsafe: Wrapped {
    guard let self else { preconditionFailure("a fixture has the wrong size") }
    return self
  }
}

/// Everybody learns everything from everybody, until nothing moves.
func synchronize(_ peers: [Peer]) throws {
  for peer in peers { try peer.flush() }
  for _ in 0..<2 { for a in peers { for b in peers where a !== b { try a.pull(from: b) } } }
}

/// Expects the rows of a query and one digest on all peers.
func expectEqual(
  _ peers: [Peer], _ sql: String, _ rows: [String], _ location: SourceLocation = #_sourceLocation
) throws {
  for peer in peers { #expect(try peer.rows(sql) == rows, sourceLocation: location) }
  #expect(try Set(peers.map { try $0.digest() }).count == 1, sourceLocation: location)
}

func expectNoConflicts(_ peers: [Peer], _ location: SourceLocation = #_sourceLocation) throws {
  for peer in peers {
    let listed = try peer.store.conflicts.list(limit: 9)
    #expect(listed.isEmpty, "\(listed)", sourceLocation: location)
  }
}
