import Foundation
import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// A node that stops may still be asked for its status, or be in a turn of a loop.
@Suite struct ClosedStoreTests {
  @Test("a closed store answers or throws, whatever it is asked")
  func questions() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("closed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let store = try Store(path: directory.appendingPathComponent("a.db").path, cryptography: try Sodium())
    let zone = Member.zone(1)
    // A commit that is not synced yet.
    try store.zones.setStandings([ZoneStanding(zone: zone, role: .privateZone)])
    try store.close()

    #expect(!store.file.isWriteLocked)
    #expect(throws: (any Error).self) { try store.control.accounts() }
    #expect(throws: (any Error).self) { try store.zones.setStandings([]) }
    #expect(throws: (any Error).self) { try store.file.quickCheck() }
    #expect(throws: (any Error).self) { try store.file.backUp(to: directory.appendingPathComponent("copy.db").path) }
    _ = store.file.whereabouts
    store.releaseMemory()
    store.restIdleBlobs()
    try store.close()
  }
}
