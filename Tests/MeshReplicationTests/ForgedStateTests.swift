import MeshCore
import MeshCrypto
import MeshTesting
import Testing

/// States of accounts with statements that the account's key did not sign.
@Suite struct ForgedStateTests {
  private let cryptography: Sodium
  private let account: TestAccount

  init() throws {
    cryptography = try Sodium(randomness: SeededRandomness(seed: 6))
    account = try TestAccount(devices: 2, seed: 31)
  }

  private func isReadable(_ bytes: [UInt8]) -> Bool {
    var reader = ByteReader(bytes)
    return (try? AccountState(from: &reader, cryptography)) != nil
  }

  @Test("a state with an altered signature of a promotion or a demotion is refused") func alteredSignatures() throws {
    let promotion = Promotion(
      account: account.state.id, generation: 0, device: try account.device(1),
      serial: [UInt8](repeating: 3, count: 16), issued: 1, sign: account.key.sign)
    var state = account.state
    state.insert(promotion, cryptography)
    // The number of demotions, which is zero, follows the signature of the last promotion.
    var altered = state.encoded
    altered[altered.count - 2] ^= 1
    #expect(isReadable(state.encoded) && !isReadable(altered))
    let demotion = Demotion(promotion, issued: 2, sign: account.key.sign)
    state.insert(demotion, cryptography)
    altered = state.encoded
    altered[altered.count - 1] ^= 1
    #expect(isReadable(state.encoded) && !isReadable(altered))
  }

  @Test("a promotion or a demotion that another key signed is not taken") func signedByAnother() throws {
    let thief = account.devices[1]
    func promotion(_ sign: ([UInt8]) -> [UInt8]) throws -> Promotion {
      Promotion(
        account: account.state.id, generation: 0, device: try account.device(1),
        serial: [UInt8](repeating: 4, count: 16), issued: 1, sign: sign)
    }
    var state = account.state
    let isForgedTaken = state.insert(try promotion { thief.sign($0) }, cryptography)
    #expect(!isForgedTaken && state.administrators.isEmpty)
    let honest = try promotion(account.key.sign)
    let isTaken = state.insert(honest, cryptography)
    let isDemoted = state.insert(Demotion(honest, issued: 2) { thief.sign($0) }, cryptography)
    #expect(isTaken && !isDemoted && state.administrators.count == 1)
  }

  @Test("a successor of one account's key certifies no device of another with the same recovery key")
  func successorOfAnother() throws {
    let randomness = SeededRandomness(seed: 32)
    let (own, later) = (AccountKey(randomness: randomness), AccountKey(randomness: randomness))
    let genesis = AccountGenesis(
      signingKey: own.publicKey, recoveryKey: account.recovery.publicKey, salt: randomness.bytes(16))
    var state = try #require(AccountState(genesis, cryptography))
    let keys = DeviceKeys(randomness: randomness)
    let request = try #require(CertificateRequest(name: "device", for: state.id, secrets: keys))
    for (named, isTaken) in [(account.state.id, false), (state.id, true)] {
      let successor = Successor(
        account: named, generation: 1, signingKey: later.publicKey, issued: 1, sign: account.recovery.sign)
      let certificate = Certificate(
        account: state.id, authority: Authority(successor: successor), request: request,
        serial: randomness.bytes(16), issued: 1, sign: later.sign)
      let isInserted = state.insert(certificate, cryptography)
      #expect(isInserted == isTaken)
    }
  }
}
