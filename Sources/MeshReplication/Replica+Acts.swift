public import MeshCore

/// What the user of a node asks for: making an account's zone, letting devices in, putting them out.
extension Replica {
  /// A new account with its first device: the account's state, and the secret that makes it is the caller's to keep.
  public static func createAccount(
    genesis: AccountGenesis, request: CertificateRequest, now: Int64, sign: ([UInt8]) -> [UInt8],
    cryptography: any Cryptography, randomness: any Randomness
  ) throws -> AccountState {
    guard var account = AccountState(genesis, cryptography) else { throw ReplicaError.badDeviceKey }
    let certificate = Certificate(
      account: account.id, keyGeneration: 0, request: request, serial: randomness.bytes(16), issued: now, sign: sign)
    account.insert(certificate, cryptography)
    return account
  }

  /// Makes the account's private zone: its genesis, its name and its first epoch. Only the device that made the account does this.
  /// What an attempt that was cut short has made stands, and the rest is added.
  @discardableResult
  public func createPrivateZone(title: String, now: Moment) throws -> ZoneID {
    let zone = try privateZone ?? openPrivateZone()
    if zones[zone]?.state.title.isEmpty == true {
      try append(.title(title, time: HybridTime(milliseconds: now.wall)), zone)
    }
    if zones[zone]?.lacksKey == true { try mintEpoch(zone, now: now) }
    try controlChanged(zone, now: now)
    return zone
  }

  private func openPrivateZone() throws -> ZoneID {
    let nonce = randomness.bytes(32)
    guard let zone = ZoneID(cryptography.hash(account.id.bytes + nonce)) else { throw ReplicaError.badDeviceKey }
    try append(.genesis(account: account.id, nonce: nonce), zone)
    return zone
  }

  /// A link that lets one device into the account until `expires` (milliseconds since 1970).
  public func issueLink(expires: Int64, addresses: [String], now: Moment) throws -> DeviceLink {
    guard accountSigner != nil else {
      throw ReplicaError.needsAccountKey(
        "only the machine that holds the account's signing key can link devices: \(accountKeyHolder)")
    }
    guard expires > now.wall else { throw ReplicaError.notReady("a link's expiry lies in the future") }
    let seed = randomness.bytes(32)
    links.removeAll { $0.expires <= now.wall }
    links.append(IssuedLink(publicHalf: cryptography.publicKey(seed: seed), expires: expires))
    try vault.saveLinks(links)
    return DeviceLink(seed: seed, account: account.id, expires: expires, addresses: addresses)
  }

  /// The device that made the account, as far as the certificates tell: the one certified first.
  private var accountKeyHolder: String {
    guard let first = account.certificates.values.min(by: { ($0.issued, $0.device) < ($1.issued, $1.device) }) else {
      return "the machine where the account was made"
    }
    return "“\(printable(first.request.name))” (\(first.device))"
  }

  /// Revokes a device for ever: its certificate, a cut in every zone where it was last merged here, a new epoch. Its sessions
  /// are closed.
  public func revoke(_ device: DeviceID, now: Moment) throws {
    guard let accountSigner else {
      throw ReplicaError.needsAccountKey(
        "only the machine that holds the account's signing key can revoke devices: \(accountKeyHolder)")
    }
    guard let certificate = account.certificates[device] else {
      throw ReplicaError.unknownDevice("the account has no device \(device): “mesh device list” shows those it has")
    }
    guard device != self.device else {
      throw ReplicaError.notReady("this machine holds the account's signing key and can't revoke itself")
    }
    if !account.isRevoked(device) {
      var shrunk = account
      shrunk.insert(Revocation(certificate, keyGeneration: 0, issued: now.wall, sign: accountSigner), cryptography)
      try replace(shrunk)
    }
    try cutRevokedDevices(now: now)
    gossip(account.id, besides: nil)
    for link in sessions.keys.sorted() where sessions[link]?.peer?.device == device {
      end(link, .revoked, "the account revoked this device")
    }
  }

  /// Says goodbye to everybody: the node stops.
  public func stop() {
    for link in sessions.keys.sorted() { end(link, .stopping, "the node stops") }
  }

  /// Asks every peer for its digests; they arrive later and are in `peerViews`.
  public func requestDigests() {
    for link in sessions.keys.sorted() {
      for zone in sessions[link]?.conversation.commonZones ?? [] {
        sessions[link]?.digests[zone] = nil
        send(link, .digestRequest(zone))
      }
    }
  }
}
