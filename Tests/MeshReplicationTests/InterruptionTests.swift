import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A node that dies between two steps of an action continues with it at the next start.
@Suite struct InterruptionTests {
  /// A vault whose disk fails when a key is stored.
  private final class FailingVault: Vault {
    struct DiskFailure: Error {}
    let base = MemoryVault()
    var fails = false

    func epochKeys(_ zone: ZoneID) throws -> [EpochID: EpochKey] { base.epochKeys(zone) }
    func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws {
      if fails { throw DiskFailure() }
      try base.saveEpochKeys(keys, zone: zone)
    }
    func zones() -> [String] { base.zones() }
    func highWaterMark(_ zone: ZoneID) throws -> HighWaterMark? { base.highWaterMark(zone) }
    func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws { try base.saveHighWaterMark(mark, zone: zone) }
    func isCopy() -> Bool { false }
    func settle() {}
    func deviceInvites() throws -> [IssuedInvite] { base.deviceInvites() }
    func saveDeviceInvites(_ links: [IssuedInvite]) throws { try base.saveDeviceInvites(links) }
  }

  private struct Machine {
    let account: TestAccount
    let cryptography: Sodium
    let store: ModelStore
    let vault = FailingVault()

    init() throws {
      account = try TestAccount(devices: 2, seed: 5)
      cryptography = try Sodium(randomness: SeededRandomness(seed: 6))
      store = ModelStore(cryptography)
    }

    func start(life: UInt64) throws -> Replica {
      let key = account.key
      return try Replica(
        store: store, vault: vault, account: account.state, secrets: account.devices[0],
        accountSigner: AccountSigner(publicKey: key.publicKey) { key.sign($0) }, cryptography: cryptography,
        randomness: SeededRandomness(seed: 9, stream: life))
    }

    func moment(_ milliseconds: Int64 = 0) -> Moment {
      Moment(wall: VirtualClock.epoch + milliseconds, steady: milliseconds)
    }
  }

  @Test("a zone whose making was cut short is completed, not made twice")
  func aZoneWhoseMakingWasCutShortIsCompletedNotMadeTwice() throws {
    let machine = try Machine()
    machine.vault.fails = true
    let first = try machine.start(life: 1)
    #expect(throws: FailingVault.DiskFailure.self) {
      try first.administration.createPrivateZone(title: "home", now: machine.moment())
    }
    machine.vault.fails = false
    let second = try machine.start(life: 2)
    let zone = try second.administration.createPrivateZone(title: "home", now: machine.moment())
    #expect(second.zoneIDs == [zone])
    let view = try #require(try second.zoneViews.view(zone))
    #expect(view.cannotWrite == nil && view.title == "home")
  }

  @Test("no epoch is recorded whose key was not kept") func noEpochIsRecordedWhoseKeyWasNotKept() throws {
    let machine = try Machine()
    machine.vault.fails = true
    let replica = try machine.start(life: 1)
    _ = try? replica.administration.createPrivateZone(title: "home", now: machine.moment())
    let zone = try #require(replica.privateZone)
    #expect(try replica.zoneViews.view(zone)?.epoch == nil)
  }

  /// Revokes the second device while the vault's disk fails.
  private func cutShort(_ machine: Machine) throws -> (replica: Replica, zone: ZoneID, lost: DeviceID) {
    let replica = try machine.start(life: 1)
    let zone = try replica.administration.createPrivateZone(title: "home", now: machine.moment())
    let lost = try machine.account.device(1)
    machine.vault.fails = true
    #expect(throws: FailingVault.DiskFailure.self) { try replica.administration.revoke(lost, now: machine.moment()) }
    machine.vault.fails = false
    return (replica, zone, lost)
  }

  @Test("a revocation that was cut short is carried out after the next start")
  func aRevocationThatWasCutShortIsCarriedOutAfterTheNextStart() throws {
    let machine = try Machine()
    let (_, zone, lost) = try cutShort(machine)
    let second = try machine.start(life: 2)
    #expect(second.account.isExcluded(lost))
    try second.tick(now: machine.moment(1))
    let view = try #require(try second.zoneViews.view(zone))
    #expect(view.cuts == [lost] && view.cannotWrite == nil)
  }

  @Test("a revocation that a failing disk cuts short is completed when the disk works again")
  func revocationWithoutARestart() throws {
    let machine = try Machine()
    let (replica, zone, lost) = try cutShort(machine)
    for step in 1...10 { _ = try replica.work(now: machine.moment(Int64(step))) }
    let view = try #require(try replica.zoneViews.view(zone))
    #expect(view.cuts == [lost] && view.cannotWrite == nil)
  }

  @Test("what a comparison notes is flushed, however little is left when it ends")
  func whatAComparisonNotesIsFlushedHoweverLittleIsLeftWhenItEnds() throws {
    let mesh = try TestMesh(2)
    try mesh.connect(1, 0)
    try mesh.write(1, "b", "first")
    mesh.nodes[1].store.upkeepSteps = [
      { _ in .flushFirst },
      { store in
        store.write(RecordName(table: "list", key: .text("a")), ["title": .text("noted")])
        return .worked(compared: 1, differences: 1)
      },
    ]
    try mesh.write(1, "b", "second")
    #expect(mesh.nodes[1].store.pendingCount() == 0)
    #expect(mesh.title(0, "a") == .text("noted"))
  }
}
