import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A device that two accounts have certified.
@Suite struct TwoAccountsTests {
  @Test("a cut that an account signed stands whoever else says that the device is its own")
  func aCutThatAnAccountSignedStandsWhoeverElseSaysThatTheDeviceIsItsOwn() throws {
    let cryptography = try Sodium(randomness: SeededRandomness(seed: 1))
    let owner = try TestAccount(devices: 1, seed: 2)
    let both = try [TestAccount(devices: 2, seed: 3), TestAccount(devices: 1, seed: 4)].sorted {
      $0.state.id < $1.state.id
    }
    for (revoker, other) in [(both[0], both[1]), (both[1], both[0])] {
      let nonce = [UInt8](repeating: 7, count: 32)
      let zone = try #require(ZoneID(cryptography.hash(owner.state.id.bytes + nonce)))
      var people = ZonePeople(zone)
      people.meet(.genesis(account: owner.state.id, nonce: nonce), cryptography)
      for account in both {
        people.meet(.participant(account.state.id, .readWrite, invite: nil, cuts: [:]), cryptography)
      }
      let device = revoker.devices[0]
      let cut = DeviceCut(try revoker.device(0), last: nil, heads: [:], zone: zone, sign: revoker.key.sign)
      let record = try ControlRecord(
        zone: zone, parents: [#require(ControlID(nonce))], number: 1, previous: nil, act: .cut(cut),
        secrets: owner.devices[0], cryptography)
      let before = Accounts([owner.state, revoker.state, other.state])
      #expect(record.isSound(people, before, cryptography))
      // Now the other account shows a certificate for the same device.
      let request = try #require(CertificateRequest(name: "x", for: other.state.id, secrets: device))
      var grown = other.state
      let certificate = Certificate(
        account: other.state.id, request: request, serial: [UInt8](repeating: 1, count: 16),
        issued: 1,
        sign: other.key.sign)
      grown.insert(certificate, cryptography)
      #expect(record.isSound(people, Accounts([owner.state, revoker.state, grown]), cryptography))
      // One of the device's accounts must have signed the cut.
      let forged = DeviceCut(try revoker.device(0), last: nil, heads: [:], zone: zone, sign: owner.key.sign)
      let lie = try ControlRecord(
        zone: zone, parents: [#require(ControlID(nonce))], number: 1, previous: nil, act: .cut(forged),
        secrets: owner.devices[0], cryptography)
      #expect(!lie.isSound(people, before, cryptography))
    }
  }
}
