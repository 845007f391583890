import Foundation
import GRDB
import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// A file that another one has replaced at its path.
@Suite struct AbandonedFileTests {
  @Test("nothing that the store still knows gets into the log of the file that took the place")
  func closedAfterwards() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("abandoned-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (path, copy) = (directory.appendingPathComponent("a.db").path, directory.appendingPathComponent("copy.db").path)
    let program = try DatabaseQueue(path: path)
    try program.write {
      try $0.execute(sql: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL); INSERT INTO t VALUES ('k')")
    }
    try program.close()
    let store = try Store(path: path, cryptography: try Sodium())
    try store.tables.track(tables: ["t"], now: 1_800_000_000_000)
    let zone = Member.zone(1)
    try store.zones.setStandings([ZoneStanding(zone: zone, role: .privateZone)])
    _ = try store.file.backUp(to: copy)
    // Another order of pages, in which a page of the old log belongs to another table.
    let target = try DatabaseQueue(path: copy)
    try target.vacuum()
    try target.close()
    let before = try Data(contentsOf: URL(filePath: copy))

    let device = DeviceID([UInt8](repeating: 7, count: 32)).unsafe
    try store.control.saveAcknowledgement([1, 2, 3], device: device, time: HybridTime(1), zone: zone)
    #expect(rename(copy, path) == 0)
    guard case .replaced = store.file.whereabouts else { throw Stuck() }
    #expect(try store.file.abandon() == [])
    #expect(throws: (any Error).self) { try store.zones.setStandings([]) }
    try store.close()
    let log = try? Data(contentsOf: URL(filePath: path + "-wal"))
    #expect(log?.isEmpty ?? true)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }
}
