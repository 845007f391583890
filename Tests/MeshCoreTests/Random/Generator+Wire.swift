@testable import MeshCore

/// Random values of each wire type.
extension Generator {
  mutating func identifier<Kind>(_: Kind.Type = Kind.self) -> Identifier<Kind> {
    var reader = ByteReader(bytes(32))
    guard let identifier = try? Identifier<Kind>(from: &reader) else { preconditionFailure("32 bytes make an id") }
    return identifier
  }

  mutating func author() -> Author { Author(device: identifier(), instance: InstanceID(next())) }
  mutating func time() -> HybridTime { HybridTime(magnitude()) }
  mutating func stamp(_ authors: [Author]) -> Stamp { Stamp(time: time(), author: pick(authors)) }

  mutating func value() -> Value {
    switch below(5) {
    case 0: .null
    case 1: .integer(flag() ? Int64(bitPattern: next()) : Int64(truncatingIfNeeded: magnitude()))
    case 2: .real(flag() ? Double(bitPattern: next()) : Double(below(9)) / 4)
    case 3: .text(flag() ? Array(text(12).utf8) : bytes(below(9)))
    default: .blob(bytes(below(200)))
    }
  }

  mutating func key() -> Value {
    let value = value()
    return value == .null ? .text("key") : value
  }

  mutating func vector() -> VersionVector {
    VersionVector(Dictionary(many(4) { ($0.author(), $0.magnitude()) }, uniquingKeysWith: { first, _ in first }))
  }

  mutating func context() -> CausalContext {
    CausalContext(
      Dictionary(
        many(4) { ($0.author(), .init(number: max(1, $0.magnitude()), time: $0.time())) },
        uniquingKeysWith: { first, _ in first }))
  }

  // MARK: Change sets

  mutating func table(_ authors: [Author]) -> TableChanges {
    let columns = (0..<below(5) + 1).map { "column \($0)" }
    let stamps = (0..<2).map { _ in stamp(authors) }
    let shapes = (0..<2).map { _ in columns.indices.filter { _ in flag() } }
    var table = TableChanges(table: text(9), columns: columns)
    for _ in 0..<below(6) {
      let isDelete = flag(oneIn: 4)
      let stamp = pick(stamps)
      let fields = (isDelete ? [] : pick(shapes)).map { column in
        RowChange.Field(column: column, stamp: ownStamp(authors, besides: stamp), value: fieldValue())
      }
      table.rows.append(
        RowChange(
          key: key(), generation: isDelete ? 2 : flag() ? 1 : magnitude() | 1, isLife: isDelete || flag(),
          stamp: stamp, fields: fields))
    }
    return table
  }

  private mutating func ownStamp(_ authors: [Author], besides row: Stamp) -> Stamp? {
    guard flag(oneIn: 3) else { return nil }
    let own = stamp(authors)
    return own == row ? nil : own
  }

  private mutating func fieldValue() -> FieldValue {
    if flag(oneIn: 9) {
      let isText = flag()
      let limit = isText ? Limits.longValue : Limits.inlineBlob
      return .long(ordinal: magnitude(), size: below(limit + 1), isText: isText)
    }
    if flag(oneIn: 9), let manifest = manifest() { return .asset(manifest) }
    return .value(value())
  }

  mutating func manifest() -> AssetManifest? {
    let size = Limits.inlineBlob + 1 + below(3 * Limits.chunk)
    return AssetManifest(
      key: bytes(AssetManifest.keySize), size: size,
      hashes: bytes(Asset.chunkCount(size: size) * AssetManifest.hashSize))
  }

  mutating func body(_ author: Author) -> ChangeSetBody {
    if flag(oneIn: 6) {
      let piece = LongValuePiece(
        ordinal: magnitude(), offset: UInt64(below(Limits.longValue - 100)), bytes: bytes(below(99) + 1))
      return ChangeSetBody(context: context(), content: .piece(piece))
    }
    let authors = [author] + many(2) { $0.author() }
    return ChangeSetBody(context: context(), content: .changes(many(3) { $0.table(authors) }))
  }

  mutating func header() -> ChangeSetHeader {
    let number = flag(oneIn: 4) ? 1 : max(1, magnitude())
    return ChangeSetHeader(
      zone: identifier(), author: author(), number: number, previous: number == 1 ? nil : identifier(),
      citation: flag() ? identifier() : nil, time: time(), epoch: identifier(),
      part: .init(index: magnitude(), planned: magnitude(), isFinal: flag()))
  }

  // MARK: Control log and accounts

  static let actKinds = 15

  /// Every kind that is known, and last one that is not: `kind` is taken modulo their number.
  mutating func act(kind: Int) -> ControlAct {
    switch kind % Self.actKinds {
    case 0: .genesis(account: identifier(), nonce: bytes(32))
    case 1: .epoch(commitment: bytes(32))
    case 2: .cut(deviceCut())
    case 3: .title(text(12), time: time())
    case 4: .fork(forkProof())
    case 5: .end(instance: InstanceID(next()), number: magnitude())
    case 6:
      .shareGenesis(account: identifier(), nonce: bytes(32), root: RecordName(table: "t" + text(5), key: key()))
    case 7: .invite(inviteTerms())
    case 8: .revokeInvite(identifier(), standing: Set(many(3) { $0.identifier() }).sorted())
    case 9:
      .participant(
        identifier(), pick([nil, .readOnly, .readWrite]), invite: flag() ? identifier() : nil, cuts: cuts())
    case 10: .admission(shareClaim())
    case 11: .leave(cuts: cuts())
    case 12: .stop
    case 13: .excess(excess())
    default: .unknown(tag: UInt8.random(in: 16...255, using: &self), bytes: bytes(below(40)))
    }
  }

  private mutating func cutPoint() -> ControlAct.CutPoint { .init(number: max(1, magnitude()), id: identifier()) }

  private mutating func deviceCut() -> DeviceCut {
    let signature = bytes(64)
    let heads = many(3) { (InstanceID($0.next()), $0.cutPoint()) }
    let authority = authority(identifier())
    return DeviceCut(
      identifier(), last: flag() ? .init(number: max(1, magnitude()), id: identifier()) : nil,
      heads: Dictionary(heads, uniquingKeysWith: { first, _ in first }), zone: identifier(), authority: authority,
      sign: { _ in signature })
  }

  private mutating func cuts() -> [Author: ControlAct.CutPoint] {
    Dictionary(many(3) { ($0.author(), $0.cutPoint()) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func inviteTerms() -> InviteTerms {
    InviteTerms(
      publicHalf: bytes(32), permission: pick(Permission.allCases), expires: Int64(magnitude() >> 1),
      use: flag() ? .open : .limited(max(1, magnitude()), by: identifier()),
      account: flag() ? DisplayedID(identifier()) : nil)
  }

  mutating func shareClaim() -> ShareClaim {
    let genesis = genesis()
    return ShareClaim(
      identifier(), zone: identifier(), genesis: genesis, certificate: certificate(), seed: bytes(32),
      secrets: StubSecrets(signingKey: bytes(32)), StubCryptography())
  }

  mutating func signedHeader(_ header: ChangeSetHeader) -> SignedHeader {
    guard let key = EpochKey(bytes(32)),
      let changeSet = try? ChangeSet(
        header, body: bytes(below(50)), key: key, secrets: StubSecrets(signingKey: header.author.device.bytes),
        with: StubCryptography())
    else { preconditionFailure("a small body fits") }
    return changeSet.signedHeader
  }

  mutating func forkProof() -> ForkProof {
    let one = header()
    var other = one
    other.time = HybridTime(one.time.value ^ 1)
    guard let proof = ForkProof(signedHeader(one), signedHeader(other)) else {
      preconditionFailure("two change sets after one")
    }
    return proof
  }

  mutating func excess() -> Excess {
    let zone: ZoneID = identifier()
    let headers = (0...below(3)).map { _ in
      signedHeader(
        ChangeSetHeader(
          zone: zone, author: author(), number: 1, previous: nil, citation: flag() ? identifier() : nil, time: time(),
          epoch: identifier(), part: .init(index: magnitude(), planned: magnitude(), isFinal: flag())))
    }
    guard let excess = Excess(headers) else { preconditionFailure("first change sets of one zone") }
    return excess
  }

  mutating func record(_ act: ControlAct? = nil) throws -> ControlRecord {
    let random = self.act(kind: below(Self.actKinds))
    let number = max(1, magnitude())
    return try ControlRecord(
      zone: identifier(), parents: many(4) { $0.identifier() }, number: number,
      previous: number == 1 ? nil : identifier(), act: act ?? random, secrets: StubSecrets(signingKey: bytes(32)),
      StubCryptography())
  }

  mutating func request() -> CertificateRequest {
    let secrets = StubSecrets(signingKey: bytes(32))
    guard let request = CertificateRequest(name: text(9), for: identifier(), secrets: secrets) else {
      preconditionFailure("a key of 32 bytes")
    }
    return request
  }

  mutating func certificate(_ account: AccountID? = nil) -> Certificate {
    let signature = bytes(64)
    let other: AccountID = identifier()
    return Certificate(
      account: account ?? other, authority: account == nil ? authority(other) : Authority(), request: request(),
      serial: bytes(16), issued: Int64(bitPattern: next()), sign: { _ in signature })
  }

  /// Any that has a form, whether or not it holds.
  mutating func authority(_ account: AccountID) -> Authority {
    let successor = flag() ? successor(account) : nil
    return Authority(
      successor: successor, promotion: flag() ? promotion(account, generation: successor?.generation ?? 0) : nil)
  }

  mutating func successor(_ account: AccountID, generation: UInt64? = nil) -> Successor {
    let signature = bytes(64)
    let random = 1 + next() % Limits.keyGeneration
    return Successor(
      account: account, generation: generation ?? random, signingKey: bytes(32), issued: Int64(bitPattern: next()),
      sign: { _ in signature })
  }

  mutating func promotion(_ account: AccountID, generation: UInt64) -> Promotion {
    let signature = bytes(64)
    return Promotion(
      account: account, generation: generation, device: identifier(), serial: bytes(16),
      issued: Int64(bitPattern: next()), sign: { _ in signature })
  }

  mutating func revocation(_ certificate: Certificate) -> Revocation {
    let signature = bytes(64)
    return Revocation(
      certificate, authority: certificate.authority, issued: Int64(bitPattern: next()), sign: { _ in signature })
  }

  mutating func genesis() -> AccountGenesis {
    AccountGenesis(signingKey: bytes(32), recoveryKey: bytes(32), salt: bytes(16))
  }

  mutating func accountState() -> AccountState {
    guard var state = AccountState(genesis(), StubCryptography()) else { preconditionFailure("a hash has 32 bytes") }
    for certificate in many(3, { $0.certificate(state.id) }) {
      state.insert(certificate, StubCryptography())
      if flag() { state.insert(revocation(certificate), StubCryptography()) }
    }
    return state
  }
}

/// Primitives without any strength, which let decoders be tried at speed: every signature is right.
struct StubCryptography: Cryptography {
  func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8] {
    var generator = Generator(seed: message.reduce(UInt64(key.count)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
    return generator.bytes(count)
  }

  func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64) { (0, 0) }
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool { true }

  func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
    plaintext + fill(0, 16)
  }

  func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
    ciphertext.dropLast(16)
  }

  func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? { secret }
  func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] { hash(message, count: 64, key: []) }
  func publicKey(seed: [UInt8]) -> [UInt8] { seed }
}

struct StubSecrets: DeviceSecrets {
  let signingKey: [UInt8]
  var sealingKey: [UInt8] { signingKey }
  var sessionKey: [UInt8] { signingKey }
  func sign(_ message: [UInt8]) -> [UInt8] { StubCryptography().sign(message, seed: []) }
  func open(_ sealed: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? { sealed }
}
