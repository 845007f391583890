import MeshCore
import MeshCrypto
import Testing

@Suite struct AccountStateTests {
  @Test("account states merge to the same state in any order") func statesMergeByUnionInAnyOrder() {
    var generator = Generator(seed: 81)
    for _ in 0..<100 {
      let base = generator.accountState()
      let parts = (0..<3).map { _ in
        var part = base
        for certificate in generator.many(2, { $0.certificate(base.id) }) {
          part.insert(certificate, StubCryptography())
          if generator.flag() { part.insert(generator.revocation(certificate), StubCryptography()) }
        }
        return part
      }
      let merged = [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1]].map { order in
        order.reduce(into: base) { $0.merge(parts[$1], StubCryptography()) }
      }
      #expect(Set(merged).count == 1)
    }
  }

  @Test("an account keeps the same certificate of a device in any order of arrival")
  func ofTwoCertificatesOfOneDeviceEverybodyKeepsTheSame() throws {
    let world = try World()
    func certificate(_ serial: UInt8, _ name: String) throws -> Certificate {
      let request = try #require(CertificateRequest(name: name, for: world.account, secrets: world.desk.keys))
      return Certificate(
        account: world.account, request: request, serial: fill(serial, 16), issued: 1,
        sign: world.accountKey.sign)
    }
    // The last two differ in their names only.
    let all = [try certificate(3, "a"), try certificate(2, "b"), try certificate(2, "c")]
    var kept: Set<Certificate?> = []
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
      var state = try #require(AccountState(world.genesis, world.cryptography))
      for index in order { state.insert(all[index], world.cryptography) }
      kept.insert(state.certificate(world.desk.id))
    }
    #expect(kept.count == 1)
  }

  @Test("a revocation that arrives before its certificate still revokes the device")
  func aRevocationBeatsItsCertificateWheneverItComes() throws {
    let world = try World()
    var state = try #require(AccountState(world.genesis, world.cryptography))
    let isRevocationTaken = state.insert(world.revocation, world.cryptography)
    #expect(isRevocationTaken)
    let isCertificateTaken = state.insert(world.lap.certificate, world.cryptography)
    #expect(isCertificateTaken)
    #expect(state.certificate(world.lap.id) == nil && state.isExcluded(world.lap.id))
  }

  @Test("an account rejects certificates that it did not sign or whose device did not ask it")
  func whatTheAccountDidNotSignIsRefused() throws {
    let world = try World()
    var state = try #require(AccountState(world.genesis, world.cryptography))
    let forged = Certificate(
      account: world.account, request: world.desk.request, serial: fill(1, 16), issued: 1,
      sign: world.desk.keys.sign)
    let isTaken = state.insert(forged, world.cryptography)
    #expect(!isTaken)
    #expect(state.certificates.isEmpty)
    // Another account's word on a device that asked for none.
    let key = AccountKey(randomness: Blocks([0x09]))
    let genesis = AccountGenesis(signingKey: key.publicKey, recoveryKey: fill(1), salt: fill(2, 16))
    var other = try #require(AccountState(genesis, world.cryptography))
    let stolen = Certificate(
      account: other.id, request: world.desk.request, serial: fill(1, 16), issued: 1, sign: key.sign)
    let isStolen = other.insert(stolen, world.cryptography)
    #expect(!isStolen && other.certificates.isEmpty)
  }

  @Test("an account state with too many live devices can still be decoded")
  func aStateThatLacksRevocationsOnTheirWayIsStillReadable() throws {
    var generator = Generator(seed: 82)
    var state = try #require(AccountState(generator.genesis(), StubCryptography()))
    for _ in 0..<Limits.liveDevices + 1 { state.insert(generator.certificate(state.id), StubCryptography()) }
    #expect(!state.hasRoom)
    var reader = ByteReader(state.encoded)
    #expect(try AccountState(from: &reader, StubCryptography()) == state)
  }

  @Test("of too many devices the lowest stay, in whatever order they come")
  func moreDevicesThanAnAccountCanHave() throws {
    var generator = Generator(seed: 83)
    let none = try #require(AccountState(generator.genesis(), StubCryptography()))
    let certificates = (0..<Limits.devicesEver + 9).map { _ in generator.certificate(none.id) }
    let revocations = certificates.map { generator.revocation($0) }
    func state(_ order: some Sequence<Int>) -> AccountState {
      order.reduce(into: none) { state, index in
        state.insert(revocations[index], StubCryptography())
        state.insert(certificates[index], StubCryptography())
      }
    }
    let whole = state(certificates.indices)
    #expect(whole == state(certificates.indices.shuffled(using: &generator)))
    var (left, right) = (state(0..<300), state(200..<certificates.count))
    #expect(!left.mayHaveDropped && !right.mayHaveDropped && whole.mayHaveDropped)
    let (before, other) = (left, right)
    left.merge(other, StubCryptography())
    right.merge(before, StubCryptography())
    #expect(left == whole && right == whole)
    let lowest = certificates.map(\.device).sorted().prefix(Limits.devicesEver)
    #expect(whole.certificates.keys.sorted() == Array(lowest) && whole.revocations.keys.sorted() == Array(lowest))
    #expect(!whole.hasRoom && whole.encoded.count < Limits.message)
    var reader = ByteReader(whole.encoded)
    #expect(try AccountState(from: &reader, StubCryptography()) == whole)
  }
}
