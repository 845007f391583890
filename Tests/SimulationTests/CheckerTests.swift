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

  /// The log of a model store in which one row was written and flushed.
  private func oracle(_ title: String) throws -> Oracle {
    let account = try TestAccount(devices: 1, seed: 1)
    let cryptography = try Sodium(randomness: SeededRandomness(seed: 2))
    let zone = try #require(ZoneID([UInt8](repeating: 1, count: 32)))
    let epoch = try #require(EpochID([UInt8](repeating: 2, count: 32)))
    let key = try #require(EpochKey([UInt8](repeating: 3, count: 32)))
    let store = ModelStore(cryptography)
    try store.control.insertControlRecord([], id: try #require(ControlID([UInt8](repeating: 4, count: 32))), zone: zone)
    store.write(record, ["title": .text(title), "rank": .null])
    let writer = ChangeSetWriter(
      zone: zone, author: Author(device: try account.device(0), instance: InstanceID(1)), epoch: epoch, key: key,
      secrets: account.devices[0], cryptography: cryptography)
    _ = try store.localWrites.flush([writer.zone: writer], now: VirtualClock.epoch)
    let batch = store.log.changeSets(zone, beyond: VersionVector(), after: 0, maximumBytes: 1 << 20)
    return Oracle(batch.changeSets, Oracle.Context(keys: [epoch: key]), cryptography)
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
