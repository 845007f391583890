import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A file that came from another home. Its merged values can't be read again before the keys of its epochs have
/// arrived.
@Suite struct KeysLaterTests {
  /// Device 2 starts on a copy of device 1's file with a home that has no keys. The row `a` was written by device 3 and
  /// is reverted by a cut, and the row `b` stays. Device 0 holds the account's key, and knows nothing of `a`.
  private func world() throws -> TestMesh {
    let mesh = try TestMesh(4)
    try mesh.meet(1, 0)
    try mesh.meet(3, 0)
    try mesh.write(3, "b", "kept")
    try mesh.meet(3, 0)
    try mesh.meet(1, 3)
    try mesh.write(3, "a", "cut")
    try mesh.meet(1, 3)
    #expect(mesh.title(1, "a") == .text("cut") && mesh.title(1, "b") == .text("kept"))
    return mesh
  }

  @Test("a cut is carried out once they are here, and until then all stays as it is")
  func aCutIsCarriedOutOnceTheyAreHereAndUntilThenAllStaysAsItIs() throws {
    let mesh = try world()
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(3), now: mesh.now)
    try mesh.pump()
    let file = mesh.nodes[1].store.copy()
    try mesh.meet(1, 0)
    #expect(mesh.title(1, "a") == nil)
    // Only the records are inserted, as in a file that was copied in between.
    for bytes in mesh.nodes[0].store.controlRecords(try mesh.zone) {
      let record = try ControlRecord(bytes, mesh.cryptography)
      try file.insertControlRecord(bytes, id: record.id, zone: record.zone)
    }
    let (digest, merged) = (file.digest(try mesh.zone), file.mergedVector(try mesh.zone))
    try mesh.restart(2, store: file, vault: MemoryVault())
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("cut"))
    #expect(try mesh.nodes[2].store.digest(mesh.zone) == digest)
    #expect(try mesh.nodes[2].store.mergedVector(mesh.zone) == merged)
    try mesh.meet(2, 0)
    #expect(mesh.title(2, "a") == nil && mesh.title(2, "b") == .text("kept"))
    #expect(try mesh.nodes[2].store.digest(mesh.zone) == mesh.nodes[0].store.digest(mesh.zone))
  }

  @Test("nothing is flushed or merged before the log is read again, and the work rests meanwhile")
  func nothingIsFlushedOrMergedBeforeTheLogIsReadAgainAndTheWorkRestsMeanwhile() throws {
    let mesh = try world()
    let file = mesh.nodes[1].store.copy()
    file.needsRecall = true
    try mesh.restart(2, store: file, vault: MemoryVault())
    try mesh.write(2, "c", "pending")
    #expect(file.needsRecall && mesh.nodes[2].store.pendingCount() == 1)
    try mesh.meet(2, 0)
    #expect(!file.needsRecall && mesh.nodes[2].store.pendingCount() == 0)
    #expect(mesh.title(0, "c") == .text("pending"))
  }

  @Test("another fault of the store is not swallowed while a key is missing")
  func anotherFaultOfTheStoreIsNotSwallowedWhileAKeyIsMissing() throws {
    let mesh = try world()
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(3), now: mesh.now)
    try mesh.meet(1, 0)
    for fault in [\ModelStore.upkeepFault, \.revertFault] {
      let file = mesh.nodes[1].store.copy()
      file[keyPath: fault] = DiskFailure()
      try mesh.restart(2, store: file, vault: MemoryVault())
      #expect(throws: DiskFailure.self) { try mesh.pump() }
    }
  }

  private struct DiskFailure: Error {}
}
