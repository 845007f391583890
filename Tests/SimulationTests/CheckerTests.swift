import MeshCore
import MeshCrypto
import Testing

@testable import MeshTesting

/// The checkers themselves: what is wrong must be seen.
@Suite struct CheckerTests {
  private let record = RecordName(table: "list", key: .text("list1"))

  private func ledger(_ title: String) -> Ledger {
    var ledger = Ledger()
    ledger.note(before: [:], after: [record: ["title": .text(title), "rank": .null]])
    return ledger
  }

  private static let zone = ZoneID([UInt8](repeating: 1, count: 32))
  private static let epoch = EpochID([UInt8](repeating: 2, count: 32))
  private static let key = EpochKey([UInt8](repeating: 3, count: 32))

  private func cryptography() throws -> Sodium { try Sodium(randomness: SeededRandomness(seed: 2)) }

  private func open(_ store: any ReplicaStore) throws {
    let id = try #require(ControlID([UInt8](repeating: 4, count: 32)))
    try store.control.insertControlRecord([], id: id, zone: try #require(Self.zone))
  }

  /// The log of a model store in which one row was written and flushed, and its author.
  private func log(_ title: String, device: Int = 0) throws -> (changeSets: [[UInt8]], author: Author) {
    let account = try TestAccount(devices: device + 1, seed: 1)
    let author = Author(device: try account.device(device), instance: InstanceID(1))
    let store = ModelStore(try cryptography())
    try open(store)
    store.write(record, ["title": .text(title), "rank": .null])
    let writer = ChangeSetWriter(
      zone: try #require(Self.zone), author: author, epoch: try #require(Self.epoch), key: try #require(Self.key),
      secrets: account.devices[device], cryptography: try cryptography())
    _ = try store.localWrites.flush([writer.zone: writer], now: VirtualClock.epoch)
    let batch = store.log.changeSets(writer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 1 << 20)
    return (batch.changeSets, author)
  }

  private func oracle(_ title: String) throws -> Oracle {
    let keys = [try #require(Self.epoch): try #require(Self.key)]
    return Oracle(try log(title).changeSets, Oracle.Context(keys: keys), try cryptography())
  }

  @Test("a model lists what each cut reverts")
  func keptByAModel() throws {
    let database = ModelDatabase(try cryptography())
    let (store, zone) = (database.open(), try #require(Self.zone))
    try open(store)
    let keys = [try #require(Self.epoch): try #require(Self.key)]
    let reader = ChangeSetReader(keys: keys, cuts: [:], cryptography: try cryptography())
    let titles = ["milk", "bread"]
    for (device, title) in titles.enumerated() {
      let (changeSets, author) = try log(title, device: device)
      let stored = try store.log.store(
        changeSets.map { try ChangeSet($0, with: try cryptography()) }, zone: zone, now: VirtualClock.epoch)
      #expect(stored == [.stored])
      while case .merged = try store.merges.apply(zone, reader, now: VirtualClock.epoch) {}
      #expect(database.contents(nil)[record]?["title"] == .text(title) && !kept(title, by: database))
      try store.merges.revert([author: 0], aftermath: [author: .kept], zone: zone, reader, now: VirtualClock.epoch)
      #expect(database.contents(nil).isEmpty)
    }
    #expect(titles.allSatisfy { kept($0, by: database) })
  }

  private func kept(_ title: String, by database: ModelDatabase) -> Bool {
    database.kept().contains(.value(Ledger.CellName(record: record, column: "title"), .text(title)))
  }

  @Test("a committed write in no change set is lost") func aCommittedWriteInNoChangeSetIsLost() throws {
    #expect(try oracle("milk").lost(ledger("milk")).isEmpty)
    #expect(try oracle("milk").lost(ledger("bread")).count == 1)
  }

  @Test("a delete in no change set is lost") func aDeleteInNoChangeSetIsLost() throws {
    var ledger = ledger("milk")
    ledger.flushed([record: [:]], tables: [record.table])
    ledger.note(before: [record: [:]], after: [:])
    #expect(try oracle("milk").lost(ledger).count == 1)
  }

  @Test("a row that is not the merged state is seen") func aRowThatIsNotTheMergedStateIsSeen() throws {
    let oracle = try oracle("milk")
    let row: [String: Value] = ["title": .text("milk"), "rank": .null]
    #expect(oracle.differences([record: row], held: [:]).isEmpty)
    #expect(oracle.differences([record: ["title": .text("bread"), "rank": .null]], held: [:]).count == 1)
    #expect(oracle.differences([:], held: [:]).count == 1)
    #expect(oracle.differences([:], held: [record: "constraint"]).count == 1, "a root record has no parent to wait for")
    let stranger = RecordName(table: "list", key: .text("list2"))
    #expect(oracle.differences([record: row, stranger: row], held: [:]).count == 1)
  }

  @Test("a value that nobody wrote to the cell is seen")
  func strangeValues() throws {
    let written = WrittenValues()
    let folder = RecordName(table: "folder", key: .text("folder1"))
    let long = Value.blob((0..<70_000).map { UInt8(truncatingIfNeeded: $0 / 256) })
    written.note([:], [record: ["title": .text("milk")], folder: ["name": .text("old"), "parent": long]])
    #expect(written.has(record, "title", .text("milk")) && written.has(record, "title", .null))
    #expect(written.has(record, "title", .text("")), "the default")
    #expect(!written.has(record, "title", .text("bread")))
    #expect(!written.has(RecordName(table: "list", key: .text("list2")), "title", .text("milk")))
    #expect(!written.has(record, "mood", .text("milk")))
    #expect(written.has(folder, "label", .text("old")), "the column's later name")
    guard case .blob(var bytes) = long else { return }
    #expect(written.has(folder, "parent", long))
    bytes.replaceSubrange(60_000..<70_000, with: [UInt8](repeating: 0, count: 10_000))
    #expect(!written.has(folder, "parent", .blob(bytes)), "its last chunk is missing")
    let eggs = AppTransaction.Statement.update(table: "list", key: record.key, values: ["title": .text("eggs")])
    written.doubt(AppTransaction(statements: [eggs], ending: .commit), [:])
    #expect(written.has(record, "title", .text("eggs")), "it may have been committed")
  }

  @Test("each branch has one name, and each purpose a plan")
  func branches() {
    #expect(Set(Coverage.branches).count == Coverage.branches.count)
    #expect(Coverage.purposes.keys.allSatisfy { FaultPlan.named[$0] != nil })
  }

  @Test("a log with a gap is seen") func aLogWithAGapIsSeen() throws {
    #expect(try oracle("milk").faults.isEmpty)
    let cryptography = try Sodium(randomness: SeededRandomness(seed: 2))
    #expect(Oracle([[1, 2, 3]], Oracle.Context(keys: [:]), cryptography).faults.count == 1)
  }

  @Test("events come in the order of time, and of one time in the order of adding")
  func eventsComeInTheOrderOfTimeAndOfOneTimeInTheOrderOfAdding() {
    var queue = EventQueue<Int>()
    var generator = SplitMix64(seed: 3)
    let times = (0..<200).map { _ in Int64.random(in: 0..<20, using: &generator) }
    for (index, time) in times.enumerated() { queue.add(index, at: time) }
    let order = (0..<200).compactMap { _ in queue.next()?.event }
    #expect(order == times.indices.sorted { (times[$0], $0) < (times[$1], $1) })
    #expect(queue.next() == nil)
  }
}
