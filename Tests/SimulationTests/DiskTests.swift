import GRDB
import MeshCore
import MeshCrypto
import MeshStore
import Testing

@testable import MeshTesting

/// The disk that everything above relies on being bad enough.
@Suite struct DiskTests {
  private func disk(seed: UInt64 = 1) throws -> VirtualDisk {
    try VirtualDisk(
      clock: VirtualClock(VirtualTime(), ahead: 0), randomness: SeededRandomness(seed: seed), seed: seed)
  }

  private func database(_ disk: VirtualDisk) throws -> DatabaseQueue {
    let queue = try DatabaseQueue(path: "file:/d.sqlite?vfs=\(disk.name)")
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    return queue
  }

  private func count(_ disk: VirtualDisk) throws -> Int {
    let queue = try database(disk)
    defer { try? queue.close() }
    #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") ?? -1 }
  }

  /// Rows left of 20 that were committed one by one before the power went.
  private func left(synchronous: String, seed: UInt64) throws -> Int {
    let disk = try disk(seed: seed)
    let queue = try database(disk)
    try queue.write { try $0.execute(sql: "CREATE TABLE t (x)") }
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
    for row in 0..<20 { try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (?)", arguments: [row]) } }
    disk.crash(losesUnsynced: true)
    try? queue.close()
    return try count(disk)
  }

  @Test("what was synced survives a power cut", arguments: UInt64(1)...10)
  func whatWasSyncedSurvivesAPowerCut(seed: UInt64) throws {
    #expect(try left(synchronous: "FULL", seed: seed) == 20)
  }

  @Test("what was not synced is lost now and then, and the file is whole")
  func whatWasNotSyncedIsLostNowAndThenAndTheFileIsWhole() throws {
    let rows = try (1...10).map { try left(synchronous: "NORMAL", seed: UInt64($0)) }
    #expect(rows.contains { $0 < 20 })
  }

  @Test("a process that dies in an operation leaves the rows before or after it")
  func aProcessThatDiesInAnOperationLeavesTheRowsBeforeOrAfterIt() throws {
    var seen: Set<Int> = []
    for operation in 1...12 {
      let disk = try disk(seed: UInt64(operation))
      let queue = try database(disk)
      try queue.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (1)") }
      disk.die(within: operation)
      try? queue.write { try $0.execute(sql: "INSERT INTO t VALUES (2), (3)") }
      disk.crash(losesUnsynced: operation % 2 == 0)
      try? queue.close()
      seen.insert(try count(disk))
    }
    #expect(seen == [1, 3])
  }

  @Test("a full disk refuses writes until there is room") func aFullDiskRefusesWritesUntilThereIsRoom() throws {
    let disk = try disk()
    let queue = try database(disk)
    try queue.write { try $0.execute(sql: "CREATE TABLE t (x)") }
    disk.fill(rate: 1)
    #expect(throws: DatabaseError.self) { try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") } }
    disk.fill(rate: 0)
    try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
    #expect(disk.failures.full > 0)
    try queue.close()
    #expect(try count(disk) == 1)
  }

  @Test("a copy of the files is a database of its own") func aCopyOfTheFilesIsADatabaseOfItsOwn() throws {
    let (disk, other) = (try disk(), try disk(seed: 2))
    let queue = try database(disk)
    try queue.write { try $0.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (1)") }
    other.files = disk.files
    try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (2)") }
    try queue.close()
    #expect(try count(disk) == 2)
    #expect(try count(other) == 1)
  }

  /// A process that is killed between the writing of a commit and its sync leaves a commit that can be read and can be lost.
  @Test("what a store finds when it opens survives a power cut") func whatAStoreFindsWhenItOpensSurvivesAPowerCut()
    throws
  {
    var lost = 0
    for seed in UInt64(1)...20 {
      let disk = try disk(seed: seed)
      let cryptography = try Sodium(randomness: SeededRandomness(seed: seed))
      let queue = try database(disk)
      try queue.write { try $0.execute(sql: "CREATE TABLE t (x)") }
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
      try Store(path: "/d.sqlite", cryptography: cryptography, vfs: disk.name).close()
      try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
      disk.crash(losesUnsynced: false)
      try? queue.close()
      let store = try Store(path: "/d.sqlite", cryptography: cryptography, vfs: disk.name)
      disk.crash(losesUnsynced: true)
      try? store.close()
      if try count(disk) == 0 { lost += 1 }
    }
    #expect(lost == 0)
  }
}
