import MeshCore
import MeshCrypto

/// The people and places of the vectors; `vectors.py` has the same. Every secret is one byte, repeated.
struct World {
  static let now: Int64 = 1_800_000_000_000
  static let handshakeHash = fill(0x61, 64)
  static let deviceInviteSeed = fill(0x31)
  static let shareInviteSeed = fill(0x32)
  static let zoneNonce = fill(0x41)

  let cryptography: Sodium
  let accountKey: AccountKey
  let genesis: AccountGenesis
  let account: AccountID
  let zone: ZoneID
  let desk: Member
  let lap: Member
  let epochKey: EpochKey

  struct Member {
    let keys: DeviceKeys
    let id: DeviceID
    let request: CertificateRequest
    let certificate: Certificate
    let author: Author
  }

  struct Broken: Error {}

  init() throws {
    let cryptography = try Sodium(randomness: Blocks([0x71]))
    self.cryptography = cryptography
    let accountKey = AccountKey(randomness: Blocks([0x01]))
    self.accountKey = accountKey
    genesis = AccountGenesis(
      signingKey: accountKey.publicKey, recoveryKey: RecoveryKey(randomness: Blocks([0x02])).publicKey,
      salt: fill(0x03, 16))
    guard let account = genesis.id(cryptography), let epochKey = EpochKey(fill(0x51)),
      let zone = ZoneID(cryptography.hash(account.bytes + Self.zoneNonce))
    else { throw Broken() }
    (self.account, self.epochKey, self.zone) = (account, epochKey, zone)

    func member(_ first: UInt8, _ name: String, _ instance: UInt64) throws -> Member {
      let keys = DeviceKeys(randomness: Blocks([first, first + 1, first + 2]))
      guard let id = DeviceID(keys.signingKey), let serial = id.bytes.first.map({ fill($0, 16) }) else {
        throw Broken()
      }
      guard let request = CertificateRequest(name: name, for: account, secrets: keys) else { throw Broken() }
      let certificate = Certificate(
        account: account, request: request, serial: serial, issued: Self.now, sign: accountKey.sign)
      return Member(
        keys: keys, id: id, request: request, certificate: certificate,
        author: Author(device: id, instance: InstanceID(instance)))
    }
    desk = try member(0x11, "desk", 0x0102_0304_0506_0708)
    lap = try member(0x21, "lap", 0x1112_1314_1516_1718)
  }

  /// Both devices, and `lap` revoked.
  func state() throws -> AccountState {
    guard var state = AccountState(genesis, cryptography) else { throw Broken() }
    state.insert(desk.certificate, cryptography)
    state.insert(lap.certificate, cryptography)
    state.insert(revocation, cryptography)
    return state
  }

  /// What the account says once another key signs for it, and the desk is an administrator.
  struct Later {
    let desk: Certificate
    let lap: Certificate
    let revocation: Revocation
    let demotion: Demotion
    let state: AccountState
  }

  func later() throws -> Later {
    let recovery = RecoveryKey(randomness: Blocks([0x02]))
    let key = AccountKey(randomness: Blocks([0x05]))
    let successor = Successor(
      account: account, generation: 1, signingKey: key.publicKey, issued: Self.now + 2, sign: recovery.sign)
    let promotion = Promotion(
      account: account, generation: 1, device: desk.id, serial: fill(0x44, 16), issued: Self.now + 3, sign: key.sign)
    let administrator = Authority(successor: successor, promotion: promotion)
    func certificate(_ member: Member, _ authority: Authority, _ sign: ([UInt8]) -> [UInt8]) -> Certificate {
      Certificate(
        account: account, authority: authority, request: member.request, serial: member.certificate.serial,
        issued: Self.now, sign: sign)
    }
    let byKey = certificate(desk, Authority(successor: successor), key.sign)
    let byDesk = certificate(lap, administrator, desk.keys.sign)
    let revocation = Revocation(byDesk, authority: administrator, issued: Self.now + 1, sign: desk.keys.sign)
    guard var state = AccountState(genesis, cryptography) else { throw Broken() }
    state.insert(byDesk, cryptography)
    state.insert(byKey, cryptography)
    state.insert(revocation, cryptography)
    let demotion = Demotion(promotion, issued: Self.now + 4, sign: key.sign)
    return Later(desk: byKey, lap: byDesk, revocation: revocation, demotion: demotion, state: state)
  }

  var revocation: Revocation {
    Revocation(lap.certificate, issued: Self.now + 1, sign: accountKey.sign)
  }

  /// By the lap, with the same account: vectors need no second one.
  func shareClaim(of invite: ControlID?) throws -> ShareClaim {
    guard let invite else { throw Broken() }
    return ShareClaim(
      invite, zone: zone, genesis: genesis, certificate: lap.certificate, seed: Self.shareInviteSeed, secrets: lap.keys,
      cryptography)
  }

  var vector: VersionVector { VersionVector([desk.author: 2, lap.author: 300]) }

  static func time(_ offset: Int64 = 0, _ counter: UInt64 = 0) -> HybridTime {
    HybridTime(HybridTime(milliseconds: now + offset).value | counter)
  }
}

/// Gives 32 bytes of each value, in order, over and over.
struct Blocks: Randomness {
  let values: [UInt8]
  init(_ values: [UInt8]) { self.values = values }

  func bytes(_ count: Int) -> [UInt8] { (0..<count).map { values[$0 / 32 % values.count] } }
}
