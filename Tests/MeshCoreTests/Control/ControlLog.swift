@testable import MeshCore

/// A log of a zone under construction, by devices of several accounts. Account 0 owns it.
struct ControlLog {
  struct Writer {
    let secrets: StubSecrets
    let device: DeviceID
    let certificate: Certificate
    let account: Int
    var last: ControlRecord?
  }

  let zone: ZoneID
  var accounts: Accounts
  let ids: [AccountID]
  private(set) var records: [ControlRecord] = []
  private var writers: [Writer] = []

  private static let cryptography = StubCryptography()
  private static let nonce = fill(0x41)
  static let root = RecordName(table: "lists", key: .text("a"))

  /// A private zone's genesis by device 0, of one account with `devices` devices.
  init(devices: Int) throws { try self.init([devices], isShare: false) }

  /// - Parameter devices: Of each account; they are numbered through.
  init(_ devices: [Int], isShare: Bool = true) throws {
    var generator = Generator(seed: 61)
    var states: [AccountState] = []
    for _ in devices {
      guard let state = AccountState(generator.genesis(), Self.cryptography) else { throw World.Broken() }
      states.append(state)
    }
    ids = states.map(\.id)
    guard let zone = ZoneID(Self.cryptography.hash(ids[0].bytes + Self.nonce)) else { throw World.Broken() }
    self.zone = zone
    for (account, count) in devices.enumerated() {
      for _ in 0..<count {
        let certificate = generator.certificate(ids[account])
        writers.append(
          Writer(
            secrets: StubSecrets(signingKey: certificate.device.bytes), device: certificate.device,
            certificate: certificate, account: account))
        states[account].insert(certificate, Self.cryptography)
      }
    }
    accounts = Accounts(states)
    let opening: ControlAct =
      isShare
      ? .shareGenesis(account: ids[0], nonce: Self.nonce, root: Self.root)
      : .genesis(account: ids[0], nonce: Self.nonce)
    try append(0, opening)
  }

  func hasDevice(_ index: Int) -> Bool { writers.indices.contains(index) }
  func device(_ index: Int) -> DeviceID { writers[index].device }
  func account(of index: Int) -> AccountID { ids[writers[index].account] }
  func author(_ index: Int, _ instance: UInt64) -> Author {
    Author(device: device(index), instance: InstanceID(instance))
  }

  mutating func revoke(_ index: Int) {
    let revocation = Revocation(
      writers[index].certificate, issued: 1, sign: { _ in fill(0x55, 64) })
    guard var state = accounts[account(of: index)] else { return }
    state.insert(revocation, Self.cryptography)
    accounts.set(state)
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

  /// A first record of a device, beside others that it made: a device that does so lies.
  mutating func branch(_ index: Int, _ act: ControlAct, after parents: [ControlRecord]) throws {
    records.append(
      try ControlRecord(
        zone: zone, parents: parents.map(\.id), number: 1, previous: nil, act: act, secrets: writers[index].secrets,
        Self.cryptography))
  }

  @discardableResult
  mutating func epoch(_ index: Int, after parents: [ControlRecord]? = nil) throws -> ControlRecord {
    try append(index, .epoch(commitment: fill(UInt8(truncatingIfNeeded: records.count))), after: parents)
  }

  /// Cuts a device, at a number per instance, and after a record of the log.
  @discardableResult
  mutating func cut(
    _ index: Int, _ other: Int, _ points: [UInt64: UInt64] = [:], last: ControlRecord? = nil,
    after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    var heads: [InstanceID: ControlAct.CutPoint] = [:]
    for (instance, number) in points { heads[InstanceID(instance)] = try Self.point(number) }
    let act = ControlAct.cut(
      DeviceCut(
        writers[other].device, last: last.map { .init(number: $0.number, id: $0.id) }, heads: heads, zone: zone,
        sign: { _ in fill(0x56, 64) }))
    return try append(index, act, after: parents)
  }

  static func point(_ number: UInt64) throws -> ControlAct.CutPoint {
    guard let id = ChangeSetID(fill(UInt8(truncatingIfNeeded: number))) else { throw World.Broken() }
    return .init(number: number, id: id)
  }

  /// A proof that an instance of a device forked after a number.
  func fork(_ index: Int, _ instance: UInt64, after number: UInt64, part: UInt64 = 0) throws -> ForkProof {
    func branch(_ time: UInt64) throws -> SignedHeader {
      guard let key = EpochKey(fill(1)), let epoch = EpochID(fill(2)) else { throw World.Broken() }
      let header = ChangeSetHeader(
        zone: zone, author: author(index, instance), number: number + 1,
        previous: number == 0 ? nil : ChangeSetID(fill(3)), time: HybridTime(time), epoch: epoch,
        part: .init(index: part, planned: part, isFinal: true))
      return try ChangeSet(header, body: [], key: key, secrets: writers[index].secrets, with: Self.cryptography)
        .signedHeader
    }
    guard let proof = ForkProof(try branch(1), try branch(2)) else { throw World.Broken() }
    return proof
  }

  // MARK: Shares

  @discardableResult
  mutating func invite(
    _ index: Int, _ permission: Permission = .readWrite, use: InviteTerms.Use = .open, for account: Int? = nil,
    after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    let terms = InviteTerms(
      publicHalf: Self.cryptography.publicKey(seed: fill(7)), permission: permission, expires: 0, use: use,
      account: account.map { DisplayedID(ids[$0]) })
    return try append(index, .invite(terms), after: parents)
  }

  /// The owner's word on an account.
  @discardableResult
  mutating func set(
    _ index: Int, _ account: Int, _ permission: Permission?, invite: ControlRecord? = nil,
    cuts: [Author: UInt64] = [:], after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    try append(
      index,
      .participant(ids[account], permission, invite: invite?.id, cuts: try cuts.mapValues { try Self.point($0) }),
      after: parents)
  }

  /// A device lets in another by an invite.
  @discardableResult
  mutating func admit(
    _ index: Int, _ other: Int, by invite: ControlRecord, seed: [UInt8] = fill(7), after parents: [ControlRecord]? = nil
  ) throws -> ControlRecord {
    let writer = writers[other]
    guard let genesis = accounts[account(of: other)]?.genesis else { throw World.Broken() }
    let claim = ShareClaim(
      invite.id, zone: zone, genesis: genesis, certificate: writer.certificate, seed: seed, secrets: writer.secrets,
      Self.cryptography)
    return try append(index, .admission(claim), after: parents)
  }

  var state: ZoneState { state(of: records) }

  func state(of records: some Sequence<ControlRecord>) -> ZoneState {
    ZoneState(zone, records: records, accounts: accounts, Self.cryptography)
  }

  /// All records that lead to some, and those.
  func closure(of some: [ControlRecord]) -> [ControlRecord] {
    let byID = Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
    var result: [ControlID: ControlRecord] = [:]
    var stack = some
    while let record = stack.popLast() {
      guard result.updateValue(record, forKey: record.id) == nil else { continue }
      stack += (record.parents + (record.previous.map { [$0] } ?? [])).compactMap { byID[$0] }
    }
    return records.filter { result[$0.id] != nil }
  }
}
