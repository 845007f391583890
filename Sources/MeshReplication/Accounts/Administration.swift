package import MeshCore

/// Actions that need the account's key or an administrator: revoking devices, and deciding which devices sign for the
/// account.
package struct Administration: Part {
  let context: Context
  let logs: ControlLogs
  let keys: KeyRing
  let changes: ControlChanges

  /// Whether this machine holds the key that currently signs for the account.
  package var holdsAccountKey: Bool { book.holdsAccountKey }

  /// Sets the account's key. It is used if it is the account's current key.
  package func sign(with signer: AccountSigner) { book.sign(with: signer) }

  /// Creates a new account with its first device and returns the account's state. The caller keeps the account's
  /// secret.
  package static func createAccount(
    genesis: AccountGenesis, request: CertificateRequest, now: Int64, sign: ([UInt8]) -> [UInt8],
    cryptography: any Cryptography, randomness: any Randomness
  ) throws -> AccountState {
    guard var account = AccountState(genesis, cryptography) else { throw ReplicaError.badDeviceKey }
    let certificate = Certificate(
      account: account.id, request: request, serial: randomness.bytes(16), issued: now, sign: sign)
    account.insert(certificate, cryptography)
    return account
  }

  func power(to act: String) throws -> AccountPower {
    guard let power = book.power else {
      throw ReplicaError.needsAccountKey(
        "this machine can't \(act): only the one that holds the account's key, or an administrator, can: \(signers)")
    }
    return power
  }

  private func keyPower(to act: String) throws -> AccountPower {
    guard let power = book.power, power.isKey else {
      throw ReplicaError.needsAccountKey(
        "this machine can't \(act): only the one that holds the account's key can; if that key is lost, mesh account "
          + "replace-key makes a new one here with the recovery key")
    }
    return power
  }

  /// Names the known machines that can sign. The key is on the machine that created the account until the key is
  /// replaced.
  private var signers: String {
    let maker =
      account.successor == nil
      ? account.certificates.values.min { ($0.issued, $0.device) < ($1.issued, $1.device) } : nil
    let administrators = account.administrators.keys.sorted().compactMap(account.certificate)
    let names = ([maker].compactMap(\.self) + administrators).map { "“\(printable($0.request.name))” (\($0.device))" }
    return names.isEmpty ? "which one that is, is not known here" : names.joined(separator: ", ")
  }

  // MARK: Actions

  /// Revokes a device permanently: revokes its certificate, cuts it in every zone at the last change set merged here,
  /// and creates a new epoch. Its sessions are closed.
  package func revoke(_ device: DeviceID, now: Moment) throws {
    let power = try power(to: "revoke a device")
    let certificate = try certificate(known: device)
    guard device != self.device else {
      throw ReplicaError.notReady("this machine can't revoke itself: run mesh device revoke on another that may")
    }
    var changed = account
    if account.administrators[device] != nil {
      demote(device, try keyPower(to: "revoke an administrator"), in: &changed, now: now)
    }
    // The account's key signs again what an administrator has revoked, so that no demotion affects it.
    if account.revocations[device].map({ power.isKey && $0.authority.promotion != nil }) ?? true {
      guard account.hasRoom(under: power.authority) else { throw ReplicaError.notReady(AccountPower.isUsedUp) }
      changed.insert(
        Revocation(certificate, authority: power.authority, issued: now.wall, sign: power.sign), cryptography)
    }
    try take(changed, now: now)
  }

  /// Makes another device of the account an administrator. It can certify and revoke devices that are not
  /// administrators.
  package func promote(_ device: DeviceID, now: Moment) throws {
    let power = try keyPower(to: "promote a device")
    _ = try certificate(known: device)
    guard device != self.device else {
      throw ReplicaError.notReady("this machine holds the account's key: it can do all that an administrator can")
    }
    guard account.revocations[device] == nil else {
      throw ReplicaError.notReady("\(device) is revoked, so it can't be promoted")
    }
    guard account.certificate(device) != nil else {
      throw ReplicaError.notReady(
        "\(device) is unconfirmed. Confirm it before you promote it: mesh device confirm \(device)")
    }
    guard account.administrators[device] == nil else {
      throw ReplicaError.notReady("\(device) is an administrator already")
    }
    guard account.hasRoomForPromotion else {
      throw ReplicaError.notReady(
        "the account's key has signed \(Limits.promotions) promotions, as many as one key may: mesh account replace-key "
          + "makes a new key")
    }
    var changed = account
    changed.insert(promotion(of: device, power, now: now), cryptography)
    try take(changed, now: now)
  }

  /// Ends an administrator's power. The signatures that are known here stay valid, signed again with the account's key.
  package func demote(_ device: DeviceID, now: Moment) throws {
    let power = try keyPower(to: "demote an administrator")
    _ = try certificate(known: device)
    guard account.administrators[device] != nil else {
      throw ReplicaError.notReady("\(device) is no administrator: mesh device list shows the administrators")
    }
    var changed = account
    demote(device, power, in: &changed, now: now)
    try take(changed, now: now)
  }

  /// Signs the certificate of a device again whose signer no longer counts.
  package func confirm(_ device: DeviceID, now: Moment) throws {
    let power = try power(to: "confirm a device")
    let certificate = try certificate(known: device)
    guard account.isUnconfirmed(device) else {
      throw ReplicaError.notReady(
        account.isExcluded(device)
          ? "the account revoked the device permanently: invite it as a new one" : "the device takes part already")
    }
    guard account.hasRoom, account.hasRoom(under: power.authority) else {
      throw ReplicaError.notReady("the account has as many devices as it can have: revoke one with mesh device revoke")
    }
    var changed = account
    changed.insert(power.confirm(certificate), cryptography)
    try take(changed, now: now)
  }

  /// Replaces the account's key, authorized by the recovery key.
  ///
  /// Devices, administrators and revocations that count now stay, signed again by the new key. Later signatures of the
  /// former key have no effect.
  ///
  /// - Parameters:
  ///   - signer: The new key. The caller stores it durably before this call.
  ///   - recovery: The recovery key.
  ///   - readmitted: Revoked devices to admit again, because a thief of the former key may have revoked them. This
  ///     device is always included.
  package func replaceKey(
    with signer: AccountSigner, recovery: AccountSigner, readmitting readmitted: Set<DeviceID>, now: Moment
  ) throws {
    guard recovery.publicKey == account.genesis.recoveryKey else {
      throw ReplicaError.notReady("that is not this account's recovery key")
    }
    let generation = account.keyAuthority.generation + 1
    guard generation <= Limits.keyGeneration else {
      throw ReplicaError.notReady("the account's key was replaced as often as it can be")
    }
    for device in readmitted { _ = try certificate(known: device) }
    let successor = Successor(
      account: account.id, generation: generation, signingKey: signer.publicKey, issued: now.wall, sign: recovery.sign)
    var changed = account
    changed.insert(successor, cryptography)
    guard let power = AccountPower(changed, device, signer: signer, secrets: secrets) else {
      throw ReplicaError.notReady("the recovery key did not sign a successor that counts")
    }
    let known = account
    power.confirm(known, in: &changed, readmitted: readmitted.union([device]), cryptography) { _ in true }
    for device in readmitted.union([device]) where changed.isUnconfirmed(device) {
      changed.insert(power.confirm(try certificate(known: device)), cryptography)
    }
    for device in known.administrators.keys.sorted() where changed.certificate(device) != nil {
      changed.insert(promotion(of: device, power, now: now), cryptography)
    }
    book.sign(with: signer)
    try take(changed, now: now)
  }

  // MARK: Parts

  private func promotion(of device: DeviceID, _ power: AccountPower, now: Moment) -> Promotion {
    Promotion(
      account: account.id, generation: power.authority.generation, device: device, serial: randomness.bytes(16),
      issued: now.wall, sign: power.sign)
  }

  private func demote(_ device: DeviceID, _ power: AccountPower, in changed: inout AccountState, now: Moment) {
    guard let promotion = account.administrators[device] else { return }
    power.confirm(account, in: &changed, cryptography) { $0.promotion == promotion }
    changed.insert(Demotion(promotion, issued: now.wall, sign: power.sign), cryptography)
  }

  private func certificate(known device: DeviceID) throws -> Certificate {
    guard let certificate = account.certificates[device] else {
      throw ReplicaError.unknownDevice("the account has no device \(device): mesh device list shows those it has")
    }
    return certificate
  }

  /// Stores the account as changed by this device, and tells the peers.
  private func take(_ changed: AccountState, now: Moment) throws {
    try book.replace(changed)
    try cutRevokedDevices(now: now)
    try changes.accountChanged(account.id, now: now)
  }

  // MARK: Zones

  /// Creates the account's private zone: its genesis, its name and its first epoch. Only the device that created the
  /// account does this. If an earlier attempt was interrupted, its records stay, and the missing ones are added.
  @discardableResult
  package func createPrivateZone(title: String, now: Moment) throws -> ZoneID {
    let zone = try zones.privateZone(of: account.id) ?? openPrivateZone()
    if zones[zone]?.state.title.isEmpty == true {
      try logs.append(.title(title, time: HybridTime(milliseconds: now.wall)), zone)
    }
    if zones[zone]?.keys.writing == nil { try keys.mint(zone, now: now) }
    try changes.changed(zone, now: now)
    return zone
  }

  private func openPrivateZone() throws -> ZoneID {
    let nonce = randomness.bytes(32)
    guard let zone = ZoneID(cryptography.hash(account.id.bytes + nonce)) else { throw ReplicaError.badDeviceKey }
    try logs.append(.genesis(account: account.id, nonce: nonce), zone)
    return zone
  }

  /// Cuts this account's revoked devices in every zone where the account is a member and they are not cut yet. A crash
  /// may have interrupted a revocation. Then it creates an epoch whose key the revoked devices don't get. A cut by a
  /// signer that no longer counts is signed again with the same ends.
  ///
  /// The lowest of several cuts counts, on all devices and forever. So a cut that this file may only lack waits.
  func cutRevokedDevices(now: Moment) throws {
    guard let power = book.power else { return }
    for zone in zones.ids where zones[zone]?.state.permission(account.id) != nil {
      guard logs.hasNumber(zone) else { continue }
      let known = zones[zone]?.state.countingCuts ?? [:]
      var uncut = account.revocations.keys.filter { device in
        known[device]?.contains { account.counts($0.authority) } != true
      }
      if uncut.contains(where: { known[$0] == nil }), !decideEnds(zone) { uncut.removeAll { known[$0] == nil } }
      for device in uncut.sorted() {
        let former = known[device] ?? []
        let ends = try former.isEmpty ? ends(of: device, zone) : zones[zone]?.state.cuts[device] ?? [:]
        let last = former.isEmpty ? lastRecord(of: device, zone) : DeviceCut.ControlPoint.least(former.map(\.last))
        let cut = DeviceCut(
          device, last: last, heads: ends, zone: zone, authority: power.authority, sign: power.sign)
        try logs.append(.cut(cut), zone)
      }
      if !uncut.isEmpty { try changes.changed(zone, now: now) }
    }
  }

  /// Decides whether this device says where revoked devices end that have no cut here. If the file is older than its
  /// home, this tells the user.
  ///
  /// Such a file may have lost a cut. It also lacks change sets that the cut lets stand. Any other device of the account
  /// may have the cut, so this device first takes the logs of all of them.
  private func decideEnds(_ id: ZoneID) -> Bool {
    guard let zone = zones[id], zone.isOlderThanHome else { return true }
    guard account.liveDevices.allSatisfy({ $0 == device || zone.hasLog(of: $0) }) else {
      incidents.notify(
        "the database is older than its home, and lacks the record of where a revoked device ends: this device waits until "
          + "it has met all other devices of the account; if one of them is lost, revoke it: mesh device revoke")
      return false
    }
    incidents.notify(
      "the database is older than its home, and no other device has the record of where a revoked device ends: it ends "
        + "where this file ends, and its later edits are reverted")
    return true
  }

  /// Returns where a device's instances end, as merged here.
  private func ends(of device: DeviceID, _ zone: ZoneID) throws -> [InstanceID: ControlAct.CutPoint] {
    let heads = try store.log.mergedTips(zone).filter { $0.key.device == device }
    let points = heads.map { ($0.key.instance, ControlAct.CutPoint(number: $0.value.number, id: $0.value.id)) }
    return Dictionary(points, uniquingKeysWith: { first, _ in first })
  }

  private func lastRecord(of device: DeviceID, _ zone: ZoneID) -> DeviceCut.ControlPoint? {
    let last = zones[zone]?.log.last(of: device)
    return last.map { DeviceCut.ControlPoint(number: $0.number, id: $0.id) }
  }
}

extension DeviceCut.ControlPoint {
  /// Returns the lowest of the points that several cuts leave a device, or nil if one of them leaves it nothing.
  fileprivate static func least(_ points: [DeviceCut.ControlPoint?]) -> DeviceCut.ControlPoint? {
    guard !points.contains(nil) else { return nil }
    return points.compactMap(\.self).min { ($0.number, $0.id) < ($1.number, $1.id) }
  }
}
