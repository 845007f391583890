@testable import MeshCore

/// A log of a zone under construction, by several devices of one account.
struct ControlLog {
  struct Writer {
    let secrets: StubSecrets
    let device: DeviceID
    let certificate: Certificate
    var last: ControlRecord?
  }

  let zone: ZoneID
  var account: AccountState
  private(set) var records: [ControlRecord] = []
  private var writers: [Writer]

  private static let cryptography = StubCryptography()
  private static let nonce = fill(0x41)

  /// A genesis by device 0, of an account with `devices` devices.
  init(devices: Int) throws {
    var generator = Generator(seed: 61)
    guard let account = AccountState(generator.genesis(), Self.cryptography),
      let zone = ZoneID(Self.cryptography.hash(account.id.bytes + Self.nonce))
    else { throw World.Broken() }
    self.zone = zone
    self.account = account
    writers = (0..<devices).map { _ in
      let certificate = generator.certificate(account.id)
      return Writer(
        secrets: StubSecrets(signingKey: certificate.device.bytes), device: certificate.device,
        certificate: certificate)
    }
    for writer in writers { self.account.insert(writer.certificate, Self.cryptography) }
    try append(0, .genesis(account: account.id, nonce: Self.nonce))
  }

  func device(_ index: Int) -> DeviceID { writers[index].device }

  mutating func revoke(_ index: Int) {
    let revocation = Revocation(
      writers[index].certificate, keyGeneration: 0, issued: 1, sign: { _ in fill(0x55, 64) })
    account.insert(revocation, Self.cryptography)
  }

  /// A record after `parents`, or after all heads.
  @discardableResult
  mutating func append(
    _ index: Int, _ act: ControlAct, after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    let record = try ControlRecord(
      zone: zone, parents: parents?.map(\.id) ?? state.heads, number: (writers[index].last?.number ?? 0) + 1,
      previous: writers[index].last?.id, act: act, secrets: writers[index].secrets, Self.cryptography)
    writers[index].last = record
    records.append(record)
    return record
  }

  @discardableResult
  mutating func epoch(_ index: Int, after parents: [ControlRecord]? = nil) throws -> ControlRecord {
    try append(index, .epoch(commitment: fill(UInt8(truncatingIfNeeded: records.count))), after: parents)
  }

  /// Cuts a device, at a number per instance.
  @discardableResult
  mutating func cut(
    _ index: Int, _ other: Int, _ points: [UInt64: UInt64] = [:], after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    var heads: [InstanceID: ControlAct.CutPoint] = [:]
    for (instance, number) in points {
      guard let id = ChangeSetID(fill(UInt8(truncatingIfNeeded: number))) else { throw World.Broken() }
      heads[InstanceID(instance)] = .init(number: number, id: id)
    }
    let act = ControlAct(cutting: writers[other].device, at: heads, zone: zone, sign: { _ in fill(0x56, 64) })
    return try append(index, act, after: parents)
  }

  /// A proof that an instance of a device forked after a number.
  func fork(_ index: Int, _ instance: UInt64, after number: UInt64, part: UInt64 = 0) throws -> ForkProof {
    func branch(_ time: UInt64) throws -> SignedHeader {
      guard let key = EpochKey(fill(1)), let epoch = EpochID(fill(2)) else { throw World.Broken() }
      let header = ChangeSetHeader(
        zone: zone, author: Author(device: writers[index].device, instance: InstanceID(instance)), number: number + 1,
        previous: number == 0 ? nil : ChangeSetID(fill(3)), time: HybridTime(time), epoch: epoch,
        part: .init(index: part, planned: part, isFinal: true))
      return try ChangeSet(header, body: [], key: key, secrets: writers[index].secrets, with: Self.cryptography)
        .signedHeader
    }
    guard let proof = ForkProof(try branch(1), try branch(2)) else { throw World.Broken() }
    return proof
  }

  var state: ZoneState { state(of: records) }

  func state(of records: [ControlRecord]) -> ZoneState {
    ZoneState(zone, records: records, account: { $0 == account.id ? account : nil }, Self.cryptography)
  }
}
