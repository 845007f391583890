import Foundation
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication

/// Answers requests about the account and its devices.
struct DeviceAnswers: NodePart {
  let context: NodeContext

  func invite(expires: Duration) throws -> InviteReport {
    let addresses = try addresses.toAdvertise()
    let now = time.now
    let invite = try replica.devices.issueInvite(
      expires: now.wall + Int64(expires.inSeconds * 1_000), addresses: addresses, now: now)
    return InviteReport(link: invite.text, expires: Date(milliseconds: invite.expires), addresses: addresses)
  }

  func list() -> DevicesReport {
    let devices = replica.account.certificates.values.sorted { ($0.issued, $0.device) < ($1.issued, $1.device) }
    return DevicesReport(devices: devices.map(report))
  }

  private func report(_ certificate: Certificate) -> DevicesReport.Device {
    let account = replica.account
    return DevicesReport.Device(
      device: certificate.device.description, name: printable(certificate.request.name),
      isThis: certificate.device == replica.device, certified: Date(milliseconds: certificate.issued),
      revoked: account.revocations[certificate.device].map { Date(milliseconds: $0.issued) },
      isAdministrator: account.administratorAuthority(certificate.device) != nil,
      isUnconfirmed: account.isUnconfirmed(certificate.device))
  }

  func change(_ request: DeviceChangeRequest) throws -> DevicesReport.Device {
    let device = try devices.named(request.device)
    switch request.act {
    case .promote: try replica.administration.promote(device, now: time.now)
    case .demote: try replica.administration.demote(device, now: time.now)
    case .confirm: try replica.administration.confirm(device, now: time.now)
    }
    try context.accountFile.save(replica.account)
    guard let certificate = replica.account.certificates[device] else {
      throw ReplicaError.unknownDevice("the account has no device \(device)")
    }
    return report(certificate)
  }

  func replaceKey(_ request: ReplaceKeyRequest) throws -> ReplaceKeyReport {
    let recovery: RecoveryKey
    do throws(CryptoError) {
      recovery = try RecoveryKey(text: request.recovery)
    } catch {
      throw Refusal(code: "recovery.mistyped", message: "\(error.message).", exit: .usage)
    }
    let readmitted = Set(try (request.readmit ?? []).map(devices.named))
    try AccountKeyFile(home: home).replace(
      in: replica, recovery: recovery, readmitting: readmitted, randomness: try Sodium(), now: time.now)
    return ReplaceKeyReport(
      generation: Int(replica.account.keyAuthority.generation), devices: list().devices)
  }

  func revoke(_ text: String) throws -> RevokeReport {
    let device = try devices.named(text)
    try replica.administration.revoke(device, now: time.now)
    try context.accountFile.save(replica.account)
    let zones = try replica.zoneIDs.filter { try replica.zoneViews.view($0)?.cuts.contains(device) ?? false }
    return RevokeReport(
      device: device.description, name: devices.plainName(of: device) ?? "",
      revoked: Date(milliseconds: replica.account.revocations[device]?.issued ?? time.milliseconds()),
      zones: zones.map(\.description))
  }

  func restamp() throws -> RestampReport {
    let taken = try replica.restamping.restamp(now: time.now)
    return RestampReport(
      zones: try taken.sorted { $0.key < $1.key }.map { zone, count in
        RestampReport.Zone(
          zone: zone.description, name: try replica.zoneViews.view(zone)?.title ?? "", changeSets: count)
      })
  }

  func account() throws -> AccountReport {
    let all = list().devices
    return AccountReport(
      account: replica.account.id.description,
      name: try replica.privateZone.flatMap { try replica.zoneViews.view($0) }?.title ?? "",
      device: replica.device.description, deviceName: devices.plainName(of: replica.device) ?? "",
      holdsAccountKey: replica.administration.holdsAccountKey,
      keyHolder: replica.account.successor == nil ? all.first.map { "\($0.name) (\($0.device))" } : nil,
      administrators: all.filter(\.isAdministrator).map { "\($0.name) (\($0.device))" },
      recoveryWaiting: try home.exists(.recoveryKey), devices: replica.account.liveDevices.count)
  }
}
