import GRDB
import MeshCore
import MeshCrypto
import MeshStore
import Testing

@testable import MeshTesting

/// What others may be told is there after a power cut.
@Suite struct DurabilityTests {
  private static let path = "/d.sqlite"

  /// A store and an app on one disk, and keys to sign with.
  private final class Machine {
    let disk: VirtualDisk
    let app: DatabaseQueue
    let cryptography: Sodium
    let keys: DeviceKeys
    let author: Author
    let zone: ZoneID
    let epoch: EpochID
    let key: EpochKey
    let now = VirtualClock.epoch
    private(set) var store: Store

    init(seed: UInt64) throws {
      let randomness = SeededRandomness(seed: seed)
      disk = try VirtualDisk(clock: VirtualClock(VirtualTime(), ahead: 0), randomness: randomness, seed: seed)
      cryptography = try Sodium(randomness: randomness)
      keys = DeviceKeys(randomness: randomness)
      author = Author(device: try #require(DeviceID(keys.signingKey)), instance: InstanceID(1))
      zone = try #require(ZoneID(randomness.bytes(32)))
      epoch = try #require(EpochID(randomness.bytes(32)))
      key = try #require(EpochKey(randomness.bytes(32)))
      app = try DatabaseQueue(path: "file:\(DurabilityTests.path)?vfs=\(disk.name)")
      try app.write { try $0.execute(sql: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)") }
      store = try Store(path: DurabilityTests.path, cryptography: cryptography, vfs: disk.name)
      try store.tables.track(tables: ["t"], now: now)
      try store.zones.beginInstance(author.instance, zone: zone)
    }

    /// Before the disk goes.
    deinit {
      try? app.close()
      try? store.close()
    }

    var reader: ChangeSetReader { ChangeSetReader(keys: [epoch: key], cuts: [:], cryptography: cryptography) }

    func upkeep() throws { while try store.capture.upkeep({ _ in reader }, now: now) != .done {} }

    func flush() throws -> ChangeSetTip {
      try app.write { try $0.execute(sql: "INSERT INTO t VALUES (hex(randomblob(8)), 'v')") }
      try upkeep()
      let writer = ChangeSetWriter(
        zone: zone, author: author, epoch: epoch, key: key, secrets: keys, cryptography: cryptography)
      let progress = try store.localWrites.flush([zone: writer], now: now)
      #expect(progress.isSendable && progress.unitEnded)
      return try #require(progress.head)
    }

    /// Of another device: a row.
    func foreign(_ other: DeviceKeys) throws -> (Author, ChangeSet) {
      let author = Author(device: try #require(DeviceID(other.signingKey)), instance: InstanceID(2))
      let stamp = Stamp(time: HybridTime(milliseconds: now), author: author)
      let row = RowChange(
        key: .text("far"), generation: 1, isLife: true, stamp: stamp,
        fields: [.init(column: 0, value: .value(.text("v")))])
      let header = ChangeSetHeader(
        zone: zone, author: author, number: 1, previous: nil, time: stamp.time, epoch: epoch, part: .only)
      let body = ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "t", columns: ["v"], rows: [row])]))
      return (
        author,
        try ChangeSet(header, body: body.encoded(author: author), key: key, secrets: other, with: cryptography)
      )
    }

    /// The power goes, and comes again.
    func cutPower() throws {
      disk.crash(losesUnsynced: true)
      try? app.close()
      try reopen()
    }

    func reopen() throws {
      try? store.close()
      store = try Store(path: DurabilityTests.path, cryptography: cryptography, vfs: disk.name)
    }
  }

  @Test("a change set that may be sent survives a power cut", arguments: UInt64(1)...10)
  func aChangeSetThatMayBeSentSurvivesAPowerCut(seed: UInt64) throws {
    let machine = try Machine(seed: seed)
    let head = try machine.flush()
    try machine.cutPower()
    #expect(try machine.store.log.changeSetID(machine.zone, machine.author, head.number) == head.id)
  }

  @Test("what is merged, and so acknowledged, survives a power cut", arguments: UInt64(1)...10)
  func whatIsMergedAndSoAcknowledgedSurvivesAPowerCut(seed: UInt64) throws {
    let machine = try Machine(seed: seed)
    let (author, changeSet) = try machine.foreign(DeviceKeys(randomness: SeededRandomness(seed: seed, stream: 7)))
    #expect(try machine.store.log.store([changeSet], zone: machine.zone, now: machine.now) == [.stored])
    try machine.upkeep()
    let progress = try machine.store.merges.apply(machine.zone, machine.reader, now: machine.now)
    #expect(progress == .merged(records: 1, unitEnded: true))
    try machine.cutPower()
    #expect(try machine.store.log.mergedVector(machine.zone)[author] == 1)
  }

  @Test("a write that fails has left nothing, or the store says that it does not know its file")
  func aWriteThatFailsHasLeftNothingOrTheStoreSaysThatItDoesNotKnowItsFile() throws {
    let machine = try Machine(seed: 1)
    let randomness = SeededRandomness(seed: 2)
    var (undone, unknown) = (0, 0)
    for _ in 0..<300 {
      let id = try #require(ControlID(randomness.bytes(32)))
      machine.disk.fail(rate: 8, times: 1)
      let result = Result { try machine.store.control.insertControlRecord(id.bytes, id: id, zone: machine.zone) }
      machine.disk.fail(rate: 0)
      guard case .failure(let error) = result else { continue }
      do {
        #expect(try !machine.store.control.controlRecords(machine.zone).contains(id.bytes))
        undone += 1
      } catch let later as StoreError {
        #expect((error as? StoreError)?.code == .replaced && later.code == .replaced)
        try machine.reopen()
        #expect(
          try machine.store.control.controlRecords(machine.zone).contains(id.bytes), "the commit itself succeeded")
        unknown += 1
      }
    }
    #expect(undone > 0 && unknown > 0)
  }

  @Test("what came without a sync does not leave the next commit without one", arguments: UInt64(1)...10)
  func whatCameWithoutASyncDoesNotLeaveTheNextCommitWithoutOne(seed: UInt64) throws {
    let machine = try Machine(seed: seed)
    let (_, changeSet) = try machine.foreign(DeviceKeys(randomness: SeededRandomness(seed: seed, stream: 7)))
    _ = try machine.store.log.store([changeSet], zone: machine.zone, now: machine.now)
    let head = try machine.flush()
    try machine.cutPower()
    #expect(try machine.store.log.changeSetID(machine.zone, machine.author, head.number) == head.id)
  }
}
