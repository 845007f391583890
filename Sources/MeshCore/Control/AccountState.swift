/// An account as its devices and peers know it: a set of signed statements, which only grows. Two states of one account
/// merge by union, and every answer is a pure function of that set.
///
/// A statement counts while its signer does. The account's key signs until a successor replaces it, and an
/// administrator's key signs until it is demoted. A device that replaces or demotes a signer signs those statements
/// again that have to stay valid.
package struct AccountState: Hashable, Sendable {
  /// The keys and the salt of the account.
  package let genesis: AccountGenesis
  /// The hash of the genesis.
  package let id: AccountID
  /// The statement that names the current signing key, or nil while that is the key of the genesis.
  package private(set) var successor: Successor?
  /// The certificate that ranks highest for each device that was ever certified, whether or not its signer still
  /// counts.
  package private(set) var certificates: [DeviceID: Certificate] = [:]
  /// The revocations that count, by device.
  package private(set) var revocations: [DeviceID: Revocation] = [:]
  /// The promotions that count, by device.
  package private(set) var administrators: [DeviceID: Promotion] = [:]
  /// Whether certificates may have been dropped, because the state has as many as it can keep, from one signer or in
  /// total. Other nodes may know a device whose certificate was dropped here.
  package private(set) var mayHaveDropped = false

  /// The promotions by their serials. Only those of the current key are kept, because others never count again.
  private var promotions: [[UInt8]: Promotion] = [:]
  private var demotions: [[UInt8]: Demotion] = [:]
  /// The revocations of the current key only, by the serial of the promotion under which they were signed (empty for
  /// the account's key).
  private var signedRevocations: [[UInt8]: [DeviceID: Revocation]] = [:]

  /// Creates a state. Returns nil only if the hash doesn't have 32 bytes.
  package init?(_ genesis: AccountGenesis, _ cryptography: any Cryptography) {
    guard let id = genesis.id(cryptography) else { return nil }
    self.genesis = genesis
    self.id = id
  }

  // MARK: Questions

  /// The Ed25519 public key that currently signs for the account.
  package var signingKey: [UInt8] { successor?.signingKey ?? genesis.signingKey }
  /// The proof that this key may sign.
  package var keyAuthority: Authority { Authority(successor: successor) }

  /// Returns the proof that a device may sign for the account as an administrator, or nil if it may not.
  package func administratorAuthority(_ device: DeviceID) -> Authority? {
    guard certificate(device) != nil else { return nil }
    return administrators[device].map { Authority(successor: successor, promotion: $0) }
  }

  /// Returns the live certificate of a device: its signer counts, and it isn't revoked.
  package func certificate(_ device: DeviceID) -> Certificate? {
    guard revocations[device] == nil, let certificate = certificates[device], counts(certificate.authority) else {
      return nil
    }
    return certificate
  }

  /// Returns whether the account excluded the device, by a revocation, or because no signer of its certificate counts.
  package func isExcluded(_ device: DeviceID) -> Bool { revocations[device] != nil || isUnconfirmed(device) }

  /// Returns whether only signers that no longer count have certified the device. It can't participate until a signer
  /// that counts signs its certificate again.
  package func isUnconfirmed(_ device: DeviceID) -> Bool {
    revocations[device] == nil && certificates[device].map { !counts($0.authority) } ?? false
  }

  /// Returns whether a signer currently counts.
  package func counts(_ authority: Authority) -> Bool {
    guard authority.successor == successor else { return false }
    guard let promotion = authority.promotion else { return true }
    return administrators[promotion.device] == promotion
  }

  /// Whether the account may certify one more device. The limits bind the signer. A set that misses revocations that
  /// haven't arrived yet may show more live devices than an account ever has.
  package var hasRoom: Bool {
    let present = certificates.values.count { $0.authority.successor == successor }
    return liveDevices.count < Limits.liveDevices && present < Limits.devicesEver
  }

  /// Returns whether a signer has not used up its promotion. This is always true for the account's key.
  package func hasRoom(under authority: Authority) -> Bool {
    guard let promotion = authority.promotion else { return true }
    let certified = certificates.values.count { $0.authority.promotion == promotion }
    let revoked = signedRevocations[promotion.serial]?.count ?? 0
    return max(certified, revoked) < Limits.administratorSignatures
  }

  /// Whether the account's key may sign one more promotion.
  package var hasRoomForPromotion: Bool { promotions.count < Limits.promotions }

  /// The devices that have a live certificate, ascending.
  package var liveDevices: [DeviceID] { certificates.keys.filter { certificate($0) != nil }.sorted() }

  // MARK: Growing

  /// Adds a certificate. Returns false if no possible signer for the account signed it.
  ///
  /// If there are several for one device, the state keeps the one that ranks highest. If one signer has too many,
  /// `dropExcess` decides. The order of arrival therefore doesn't matter.
  @discardableResult
  package mutating func insert(_ certificate: Certificate, _ cryptography: any Cryptography) -> Bool {
    defer { refresh() }
    return add(certificate, cryptography)
  }

  /// Adds a revocation. It applies to the device, regardless of the certificate that it names.
  @discardableResult
  package mutating func insert(_ revocation: Revocation, _ cryptography: any Cryptography) -> Bool {
    defer { refresh() }
    return add(revocation, cryptography)
  }

  /// Adds the statement of a new key, and follows it if it ranks highest. Returns false if the recovery key didn't sign
  /// it.
  @discardableResult
  package mutating func insert(_ successor: Successor, _ cryptography: any Cryptography) -> Bool {
    defer { refresh() }
    guard successor.account == id, successor.isSigned(genesis, cryptography) else { return false }
    follow(successor, cryptography)
    return true
  }

  /// Adds a promotion. Returns false if it is not one by the key that currently signs.
  @discardableResult
  package mutating func insert(_ promotion: Promotion, _ cryptography: any Cryptography) -> Bool {
    defer { refresh() }
    return add(promotion, cryptography)
  }

  /// Adds a demotion. Returns false if it is not one by the key that currently signs.
  @discardableResult
  package mutating func insert(_ demotion: Demotion, _ cryptography: any Cryptography) -> Bool {
    defer { refresh() }
    return add(demotion, cryptography)
  }

  /// Adds the statements of another state, as far as they are kept. Returns false if that state belongs to another
  /// account.
  @discardableResult
  package mutating func merge(_ other: AccountState, _ cryptography: any Cryptography) -> Bool {
    guard other.id == id else { return false }
    defer { refresh() }
    if let successor = other.successor { follow(successor, cryptography) }
    // All statements of an earlier key of the account are void permanently, except certificates.
    if other.successor == successor {
      for promotion in other.promotions.values { Self.keep(promotion, promotion.serial, \.signature, &promotions) }
      for demotion in other.demotions.values { Self.keep(demotion, demotion.serial, \.signature, &demotions) }
      for revocations in other.signedRevocations.values { for revocation in revocations.values { keep(revocation) } }
    }
    for certificate in other.certificates.values where certificates[certificate.device] != certificate {
      keep(certificate, cryptography)
    }
    return true
  }

  private mutating func add(
    _ certificate: Certificate, _ cryptography: any Cryptography, knowing known: AccountState? = nil
  ) -> Bool {
    guard certificate.account == id,
      known?.certificates[certificate.device] == certificate || certificate.isSigned(genesis, cryptography)
    else { return false }
    follow(certificate.authority, cryptography)
    keep(certificate, cryptography)
    return true
  }

  private mutating func add(
    _ revocation: Revocation, _ cryptography: any Cryptography, knowing known: AccountState? = nil
  ) -> Bool {
    guard revocation.account == id, known?.has(revocation) == true || revocation.isSigned(genesis, cryptography) else {
      return false
    }
    follow(revocation.authority, cryptography)
    if revocation.authority.successor == successor { keep(revocation) }
    return true
  }

  private mutating func add(_ promotion: Promotion, _ cryptography: any Cryptography) -> Bool {
    guard promotion.account == id, promotion.generation == successor?.generation ?? 0,
      promotion.isSigned(by: signingKey, cryptography)
    else { return false }
    Self.keep(promotion, promotion.serial, \.signature, &promotions)
    return true
  }

  private mutating func add(_ demotion: Demotion, _ cryptography: any Cryptography) -> Bool {
    guard demotion.account == id, demotion.generation == successor?.generation ?? 0,
      demotion.isSigned(by: signingKey, cryptography)
    else { return false }
    Self.keep(demotion, demotion.serial, \.signature, &demotions)
    return true
  }

  /// Adopts a successor that outranks the current one. The former key's statements and its administrators become void.
  private mutating func follow(_ successor: Successor, _ cryptography: any Cryptography) {
    if let present = self.successor, !successor.outranks(present, cryptography) { return }
    self.successor = successor
    (promotions, demotions, signedRevocations) = ([:], [:], [:])
  }

  private mutating func follow(_ authority: Authority, _ cryptography: any Cryptography) {
    if let successor = authority.successor, successor != self.successor { follow(successor, cryptography) }
    if let promotion = authority.promotion, authority.successor == successor {
      Self.keep(promotion, promotion.serial, \.signature, &promotions)
    }
  }

  // MARK: What is kept of verified statements

  private mutating func keep(_ certificate: Certificate, _ cryptography: any Cryptography) {
    let device = certificate.device
    if let known = certificates[device], !certificate.outranks(known, cryptography) { return }
    certificates[device] = certificate
    dropExcess(besides: certificate.authority)
  }

  /// Drops the certificates beyond the bound of a signer. For the account's key, those of the lowest devices stay. For
  /// an administrator, the earliest stay. For former keys, those by the latest keys stay.
  ///
  /// The signed content decides, and not the order of arrival. A device that isn't among the lowest of some
  /// certificates isn't among the lowest of more certificates.
  private mutating func dropExcess(besides authority: Authority) {
    // Looking at all of them for each one that is kept would take a time that is quadratic in their number.
    let bound = authority.promotion == nil ? Limits.devicesEver : Limits.administratorSignatures
    guard certificates.count > bound else { return }
    if let promotion = authority.promotion {
      let group = certificates.values.filter { $0.authority.promotion == promotion }
      if group.count > Limits.administratorSignatures,
        let last = group.max(by: { ($0.issued, $0.device) < ($1.issued, $1.device) })
      {
        certificates[last.device] = nil
      }
    } else if authority.successor == successor {
      let group = certificates.values.filter { $0.authority == authority }
      if group.count > Limits.devicesEver, let last = group.map(\.device).max() { certificates[last] = nil }
    }
    while certificates.count > Limits.certificates,
      let last = certificates.values.filter({ $0.authority.successor != successor }).min(by: {
        ($0.authority.generation, $0.device) < ($1.authority.generation, $1.device)
      })
    {
      certificates[last.device] = nil
    }
  }

  private mutating func keep(_ revocation: Revocation) {
    let serial = revocation.authority.promotion?.serial ?? []
    var group = signedRevocations[serial] ?? [:]
    if let known = group[revocation.device] {
      if revocation.signature.lexicographicallyPrecedes(known.signature) { group[revocation.device] = revocation }
    } else {
      group[revocation.device] = revocation
      let bound = serial.isEmpty ? Limits.devicesEver : Limits.administratorSignatures
      if group.count > bound, let last = group.keys.max() { group[last] = nil }
    }
    signedRevocations[serial] = group
  }

  /// Keeps a statement about a promotion. Of two about one promotion, it keeps the one with the smaller signature. If
  /// there are too many, it keeps those with the smallest serials. The signed contents therefore decide, and not the
  /// order of arrival.
  private static func keep<Statement>(
    _ statement: Statement, _ serial: [UInt8], _ signature: KeyPath<Statement, [UInt8]>,
    _ statements: inout [[UInt8]: Statement]
  ) {
    if let known = statements[serial],
      !statement[keyPath: signature].lexicographicallyPrecedes(known[keyPath: signature])
    {
      return
    }
    statements[serial] = statement
    if statements.count > Limits.promotions, let last = statements.keys.max(by: { $0.lexicographicallyPrecedes($1) }) {
      statements[last] = nil
    }
  }

  /// Computes which of the kept statements count.
  private mutating func refresh() {
    mayHaveDropped =
      certificates.count >= Limits.certificates
      || Dictionary(grouping: certificates.values, by: \.authority).contains { authority, group in
        group.count >= (authority.promotion == nil ? Limits.devicesEver : Limits.administratorSignatures)
      }
    administrators = [:]
    for promotion in promotions.values where demotions[promotion.serial] == nil {
      if let other = administrators[promotion.device], other.serial.lexicographicallyPrecedes(promotion.serial) {
        continue
      }
      administrators[promotion.device] = promotion
    }
    revocations = signedRevocations[[]] ?? [:]
    for (serial, group) in signedRevocations where !serial.isEmpty && demotions[serial] == nil {
      for (device, revocation) in group where counts(revocation.authority) && administrators[device] == nil {
        if let known = revocations[device] {
          guard known.authority.promotion != nil,
            revocation.signature.lexicographicallyPrecedes(known.signature)
          else { continue }
        }
        revocations[device] = revocation
      }
    }
  }

  // MARK: Coding

  /// Returns the hash of the state. Equal hashes mean equal states.
  package func head(_ cryptography: any Cryptography) -> [UInt8] { cryptography.hash(encoded) }

  /// The wire form (see `write`).
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    write(to: &writer)
    return writer.bytes
  }

  private static let tailVersion: UInt8 = 1

  /// Writes genesis · certificates · revocations. If the account has a successor, promotions or demotions, a version
  /// and these follow.
  package func write(to writer: inout ByteWriter) {
    genesis.write(to: &writer)
    writer.list(certificates.keys.sorted()) { writer, device in certificates[device]?.write(to: &writer) }
    let groups = signedRevocations.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    writer.list(groups.flatMap { $0.value.sorted { $0.key < $1.key } }) { $1.value.write(to: &$0) }
    guard successor != nil || !promotions.isEmpty || !demotions.isEmpty else { return }
    writer.byte(Self.tailVersion)
    writer.byte(successor == nil ? 0 : 1)
    successor?.write(to: &writer)
    writer.list(promotions.sorted { $0.key.lexicographicallyPrecedes($1.key) }) { $1.value.write(to: &$0) }
    writer.list(demotions.sorted { $0.key.lexicographicallyPrecedes($1.key) }) { $1.value.write(to: &$0) }
  }

  private func has(_ revocation: Revocation) -> Bool {
    signedRevocations[revocation.authority.promotion?.serial ?? []]?[revocation.device] == revocation
  }

  /// Decodes a state and verifies every signature, because only they make bytes from a peer or a file credible.
  ///
  /// A statement that is already known, byte for byte, isn't verified again. A state of any size that grows by one
  /// statement therefore costs one verification.
  ///
  /// - Parameter known: Returns the state of an account whose signatures were verified before, or nil for another
  ///   account.
  package init(
    from reader: inout ByteReader, _ cryptography: any Cryptography,
    knowing known: (AccountID) -> AccountState? = { _ in nil }
  ) throws(FormatError) {
    let genesis = try AccountGenesis(from: &reader)
    guard var state = AccountState(genesis, cryptography) else { throw .invalid("a hash of 32 bytes") }
    let known = known(state.id)
    let certificates = try reader.list(Limits.certificates, "certificates") {
      (reader: inout ByteReader) throws(FormatError) in try Certificate(from: &reader)
    }
    let revocations = try reader.list(Limits.revocations, "revocations") {
      (reader: inout ByteReader) throws(FormatError) in try Revocation(from: &reader)
    }
    if !reader.isAtEnd { try state.readTail(&reader, cryptography) }
    for certificate in certificates {
      guard state.add(certificate, cryptography, knowing: known) else { throw .invalid("certificate signature") }
    }
    for revocation in revocations {
      guard state.add(revocation, cryptography, knowing: known) else { throw .invalid("revocation signature") }
    }
    state.refresh()
    // A set has only one encoding. Statements that are out of order, repeated or void would not be encoded again.
    guard state.certificates.count == certificates.count,
      state.signedRevocations.values.reduce(0, { $0 + $1.count }) == revocations.count,
      Self.isAscending(certificates.map(\.device.bytes)),
      Self.isAscending(revocations.map { ($0.authority.promotion.map { [1] + $0.serial } ?? [0]) + $0.device.bytes })
    else { throw .invalid("statements in ascending order, each once") }
    self = state
  }

  private mutating func readTail(_ reader: inout ByteReader, _ cryptography: any Cryptography) throws(FormatError) {
    guard try reader.byte() == Self.tailVersion else { throw .unknown("account state version") }
    if try reader.flag() {
      guard insert(try Successor(from: &reader), cryptography) else { throw .invalid("successor signature") }
    }
    let promotions = try reader.list(Limits.promotions, "promotions") {
      (reader: inout ByteReader) throws(FormatError) in try Promotion(from: &reader)
    }
    let demotions = try reader.list(Limits.promotions, "demotions") {
      (reader: inout ByteReader) throws(FormatError) in try Demotion(from: &reader)
    }
    guard Self.isAscending(promotions.map(\.serial)), Self.isAscending(demotions.map(\.serial)) else {
      throw .invalid("promotions and demotions in ascending order")
    }
    guard successor != nil || !promotions.isEmpty || !demotions.isEmpty else {
      throw .invalid("an end of an account's state that says something")
    }
    for promotion in promotions {
      guard add(promotion, cryptography) else { throw .invalid("promotion signature") }
    }
    for demotion in demotions {
      guard add(demotion, cryptography) else { throw .invalid("demotion signature") }
    }
  }

  private static func isAscending(_ keys: [[UInt8]]) -> Bool {
    zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
  }
}
