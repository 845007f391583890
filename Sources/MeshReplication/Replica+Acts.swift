public import MeshCore

/// Actions for the user of a node: creating an account's zone, inviting devices, and stopping.
extension Replica {
  /// Creates a new account with its first device and returns the account's state. The caller keeps the account's
  /// secret.
  public static func createAccount(
    genesis: AccountGenesis, request: CertificateRequest, now: Int64, sign: ([UInt8]) -> [UInt8],
    cryptography: any Cryptography, randomness: any Randomness
  ) throws -> AccountState {
    guard var account = AccountState(genesis, cryptography) else { throw ReplicaError.badDeviceKey }
    let certificate = Certificate(
      account: account.id, request: request, serial: randomness.bytes(16), issued: now, sign: sign)
    account.insert(certificate, cryptography)
    return account
  }

  /// Creates the account's private zone: its genesis, its name and its first epoch. Only the device that created the
  /// account does this. If an earlier attempt was interrupted, its records stay, and the missing ones are added.
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

  /// Creates an invite that admits one device to the account until `expires` (milliseconds since 1970).
  public func issueLink(expires: Int64, addresses: [String], now: Moment) throws -> DeviceLink {
    let power = try power(to: "invite a device")
    guard account.hasRoom(under: power.authority) else { throw ReplicaError.notReady(usedUpPromotion) }
    guard expires > now.wall else { throw ReplicaError.notReady("an invite's expiry lies in the future") }
    let seed = randomness.bytes(32)
    links.removeAll { $0.expires <= now.wall }
    links.append(IssuedLink(publicHalf: cryptography.publicKey(seed: seed), expires: expires))
    try vault.saveLinks(links)
    return DeviceLink(seed: seed, account: account.id, expires: expires, addresses: addresses)
  }

  /// Says goodbye to all peers, because the node stops.
  public func stop() {
    for link in sessions.keys.sorted() { end(link, .stopping, "the node stops") }
  }

  /// Asks every peer for its digests. They arrive later and are then in `peerViews`.
  public func requestDigests() {
    for link in sessions.keys.sorted() {
      for zone in sessions[link]?.conversation.commonZones ?? [] {
        sessions[link]?.digests[zone] = nil
        send(link, .digestRequest(zone))
      }
    }
  }
}
