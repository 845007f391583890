import MeshCore
import MeshCrypto
import MeshTesting
import Testing

/// Who signs for an account: its first key, successors by the recovery key, administrators.
@Suite struct AuthorityTests {
  /// An account with a recovery key, whose statements are made of one byte each.
  private struct Account {
    let cryptography: Sodium
    let key = AccountKey(randomness: Blocks([0x01]))
    let recovery = RecoveryKey(randomness: Blocks([0x02]))
    let genesis: AccountGenesis
    let id: AccountID
    var state: AccountState

    init() throws {
      cryptography = try Sodium(randomness: Blocks([0x71]))
      genesis = AccountGenesis(
        signingKey: key.publicKey, recoveryKey: recovery.publicKey, salt: fill(0x03, 16))
      id = try #require(genesis.id(cryptography))
      state = try #require(AccountState(genesis, cryptography))
    }

    func keys(_ device: UInt8) -> DeviceKeys { DeviceKeys(randomness: Blocks([device, 0x7a, 0x7b])) }
    func device(_ device: UInt8) throws -> DeviceID { try #require(DeviceID(keys(device).signingKey)) }

    func certificate(
      _ device: UInt8, _ authority: Authority = Authority(), issued: Int64 = 1, sign: ([UInt8]) -> [UInt8]
    ) throws -> Certificate {
      let request = try #require(CertificateRequest(name: "d\(device)", for: id, secrets: keys(device)))
      return Certificate(
        account: id, authority: authority, request: request, serial: fill(device, 16), issued: issued, sign: sign)
    }

    func promotion(
      _ device: UInt8, serial: UInt8, generation: UInt64 = 0, by key: AccountKey
    ) throws -> Promotion {
      Promotion(
        account: id, generation: generation, device: try self.device(device), serial: fill(serial, 16), issued: 2,
        sign: key.sign)
    }

    func successor(_ generation: UInt64, _ key: AccountKey) -> Successor {
      Successor(account: id, generation: generation, signingKey: key.publicKey, issued: 3, sign: recovery.sign)
    }
  }

  @Test("an administrator certifies and revokes ordinary devices, and no administrator")
  func whatAnAdministratorMay() throws {
    var account = try Account()
    let (key, cryptography) = (account.key, account.cryptography)
    for device: UInt8 in [0x11, 0x12, 0x13] {
      account.state.insert(try account.certificate(device, sign: key.sign), cryptography)
    }
    for (device, serial): (UInt8, UInt8) in [(0x11, 1), (0x12, 2)] {
      account.state.insert(try account.promotion(device, serial: serial, by: key), cryptography)
    }
    let authority = try #require(account.state.administratorAuthority(account.device(0x11)))
    let new = try account.certificate(0x14, authority, sign: account.keys(0x11).sign)
    let isTaken = account.state.insert(new, cryptography)
    #expect(try isTaken && account.state.certificate(account.device(0x14)) == new)
    for (device, isOut): (UInt8, Bool) in [(0x13, true), (0x12, false), (0x14, true)] {
      let certificate = try #require(account.state.certificates[account.device(device)])
      account.state.insert(
        Revocation(certificate, authority: authority, issued: 4, sign: account.keys(0x11).sign), cryptography)
      #expect(try account.state.isExcluded(account.device(device)) == isOut)
    }
    let forged = Authority(promotion: try account.promotion(0x13, serial: 3, by: AccountKey(randomness: Blocks([9]))))
    let isForgeryTaken = account.state.insert(
      try account.certificate(0x15, forged, sign: account.keys(0x13).sign), cryptography)
    #expect(!isForgeryTaken, "nobody promotes itself")
  }

  @Test("a demoted administrator's signatures count nowhere, unless the account's key has signed them again")
  func aDemotionVoidsWhatIsNotConfirmed() throws {
    var account = try Account()
    let (key, cryptography) = (account.key, account.cryptography)
    account.state.insert(try account.certificate(0x11, sign: key.sign), cryptography)
    let promotion = try account.promotion(0x11, serial: 1, by: key)
    account.state.insert(promotion, cryptography)
    let authority = Authority(promotion: promotion)
    for device: UInt8 in [0x12, 0x13] {
      account.state.insert(try account.certificate(device, authority, sign: account.keys(0x11).sign), cryptography)
    }
    account.state.insert(try account.certificate(0x12, sign: key.sign), cryptography)
    account.state.insert(Demotion(promotion, issued: 5, sign: key.sign), cryptography)
    #expect(try account.state.certificate(account.device(0x12)) != nil)
    #expect(try account.state.isUnconfirmed(account.device(0x13)))
    #expect(try account.state.isExcluded(account.device(0x13)))
    #expect(try account.state.administratorAuthority(account.device(0x11)) == nil)
    // Afterwards, or with a date before: it makes no difference.
    account.state.insert(
      try account.certificate(0x14, authority, issued: 0, sign: account.keys(0x11).sign), cryptography)
    #expect(try account.state.certificate(account.device(0x14)) == nil)
  }

  @Test("after a key was replaced the former one certifies, revokes and promotes nobody")
  func aFormerKeyIsWorthNothing() throws {
    var account = try Account()
    let (former, cryptography) = (account.key, account.cryptography)
    let key = AccountKey(randomness: Blocks([0x05]))
    account.state.insert(try account.certificate(0x11, sign: former.sign), cryptography)
    account.state.insert(account.successor(1, key), cryptography)
    #expect(account.state.signingKey == key.publicKey)
    let authority = account.state.keyAuthority
    account.state.insert(try account.certificate(0x11, authority, sign: key.sign), cryptography)
    account.state.insert(try account.certificate(0x12, sign: former.sign), cryptography)
    #expect(try account.state.certificate(account.device(0x12)) == nil)
    let certificate = try #require(account.state.certificate(account.device(0x11)))
    account.state.insert(Revocation(certificate, issued: 6, sign: former.sign), cryptography)
    #expect(try account.state.certificate(account.device(0x11)) == certificate)
    let isPromoted = account.state.insert(try account.promotion(0x12, serial: 4, by: former), cryptography)
    #expect(!isPromoted)
    let isForged = account.state.insert(
      Successor(account: account.id, generation: 2, signingKey: former.publicKey, issued: 7, sign: former.sign),
      cryptography)
    #expect(!isForged, "only the recovery key names a successor")
  }

  @Test("of two successors everybody follows the same one, whichever came first")
  func twoSuccessors() throws {
    let account = try Account()
    let keys = (5...7).map { AccountKey(randomness: Blocks([UInt8($0)])) }
    let all = [account.successor(1, keys[0]), account.successor(1, keys[1]), account.successor(2, keys[2])]
    for some in [[0, 1], [0, 1, 2]] {
      var chosen: Set<[UInt8]> = []
      for order in [some, some.reversed()] {
        var state = account.state
        for index in order { state.insert(all[index], account.cryptography) }
        chosen.insert(state.signingKey)
      }
      #expect(chosen.count == 1)
      if some.contains(2) { #expect(chosen == [keys[2].publicKey]) }
    }
  }

  /// A history of acts by two keys of the account and two administrators, in which everybody also oversteps.
  private func history(_ generator: inout Generator) throws -> (Account, [(inout AccountState) -> Void]) {
    let account = try Account()
    let cryptography = account.cryptography
    let second = AccountKey(randomness: Blocks([0x05]))
    let successor = account.successor(1, second)
    var acts: [(inout AccountState) -> Void] = [{ $0.insert(successor, cryptography) }]
    var authorities: [(Authority, ([UInt8]) -> [UInt8])] = [
      (Authority(), account.key.sign), (Authority(successor: successor), second.sign),
    ]
    for (generation, key) in [account.key, second].enumerated() {
      for device: UInt8 in [0x11, 0x12] {
        let promotion = try account.promotion(
          device, serial: device + UInt8(generation) * 0x10, generation: UInt64(generation), by: key)
        acts.append { $0.insert(promotion, cryptography) }
        authorities.append(
          (Authority(successor: generation == 0 ? nil : successor, promotion: promotion), account.keys(device).sign))
        if generator.flag() {
          let demotion = Demotion(promotion, issued: 9, sign: key.sign)
          acts.append { $0.insert(demotion, cryptography) }
        }
      }
    }
    for device: UInt8 in 0x11...0x16 {
      for _ in 0...generator.below(3) {
        let (authority, sign) = generator.pick(authorities)
        let certificate = try account.certificate(device, authority, issued: Int64(generator.below(3)), sign: sign)
        acts.append { $0.insert(certificate, cryptography) }
        if generator.flag() {
          let (authority, sign) = generator.pick(authorities)
          let revocation = Revocation(certificate, authority: authority, issued: 8, sign: sign)
          acts.append { $0.insert(revocation, cryptography) }
        }
      }
    }
    return (account, acts)
  }

  @Test("a state is the same in whatever order its statements come, alone or merged, and reads back as it was written")
  func statesAreSets() throws {
    var generator = Generator(seed: 90)
    for _ in TestSeeds.through(60) {
      let (account, acts) = try history(&generator)
      var whole = account.state
      for act in acts { act(&whole) }
      // A promotion or demotion comes after the key that signed it: alone, it says nothing without it.
      for act in acts { act(&whole) }
      var reader = ByteReader(whole.encoded)
      #expect(try AccountState(from: &reader, account.cryptography) == whole)
      for _ in 0..<4 {
        var parts = [account.state, account.state, account.state]
        for act in acts.shuffled(using: &generator) { act(&parts[generator.below(3)]) }
        for act in acts.shuffled(using: &generator) { act(&parts[generator.below(3)]) }
        for act in acts.shuffled(using: &generator) { act(&parts[generator.below(3)]) }
        for index in [0, 1, 2, 0, 1, 2].shuffled(using: &generator) {
          parts[generator.below(3)].merge(parts[index], account.cryptography)
        }
        var merged = parts[0]
        for part in parts.shuffled(using: &generator) { merged.merge(part, account.cryptography) }
        for act in acts { act(&merged) }
        #expect(merged == whole)
        #expect(merged.encoded == whole.encoded)
      }
    }
  }

  @Test("what is known is not verified again, and what is new is")
  func onlyWhatIsNewIsVerified() throws {
    var account = try Account()
    let (key, cryptography) = (account.key, account.cryptography)
    for device: UInt8 in [0x11, 0x12, 0x13] {
      account.state.insert(try account.certificate(device, sign: key.sign), cryptography)
    }
    let known = account.state
    account.state.insert(try account.certificate(0x14, sign: key.sign), cryptography)
    let counting = CountingCryptography(cryptography)
    var reader = ByteReader(account.state.encoded)
    #expect(try AccountState(from: &reader, counting) { $0 == known.id ? known : nil } == account.state)
    #expect(counting.verifications == 2, "the certificate, and the device's request in it")
    // The same bytes with one signature of a known certificate altered are not what is known.
    let certificate = try #require(known.certificates[account.device(0x12)])
    let at = try #require(known.encoded.firstRange(of: certificate.signature)?.lowerBound)
    var altered = known.encoded
    altered[at] ^= 1
    reader = ByteReader(altered)
    #expect(throws: FormatError.self) { try AccountState(from: &reader, cryptography) { _ in known } }
  }

  @Test("an administrator that signs for more devices than it may fills nothing and displaces nobody else's")
  func whatAnAdministratorFillsIsBounded() throws {
    var account = try Account()
    let (key, cryptography) = (account.key, account.cryptography)
    account.state.insert(try account.certificate(0x11, sign: key.sign), cryptography)
    let promotion = try account.promotion(0x11, serial: 1, by: key)
    account.state.insert(promotion, cryptography)
    let authority = Authority(promotion: promotion)
    var certificates: [Certificate] = []
    for device: UInt8 in 0x20..<0x20 + UInt8(Limits.administratorSignatures) + 20 {
      certificates.append(
        try account.certificate(device, authority, issued: Int64(device), sign: account.keys(0x11).sign))
    }
    var forwards = account.state
    var backwards = account.state
    for certificate in certificates {
      forwards.insert(certificate, cryptography)
      forwards.insert(
        Revocation(certificate, authority: authority, issued: 5, sign: account.keys(0x11).sign), cryptography)
    }
    for certificate in certificates.reversed() {
      backwards.insert(
        Revocation(certificate, authority: authority, issued: 5, sign: account.keys(0x11).sign), cryptography)
      backwards.insert(certificate, cryptography)
    }
    #expect(forwards == backwards)
    #expect(forwards.certificates.count == 1 + Limits.administratorSignatures)
    #expect(forwards.revocations.count == Limits.administratorSignatures)
    #expect(forwards.hasRoom && !forwards.hasRoom(under: authority) && forwards.hasRoom(under: Authority()))
    #expect(try forwards.certificate(account.device(0x11)) != nil)
  }
}
