import MeshControl
import MeshCore
import MeshReplication

/// The devices that this node knows: their names, and what it has in common with them.
struct Devices {
  private let replica: Replica

  init(_ replica: Replica) { self.replica = replica }

  /// The length of a displayed beginning of an id: the prefix and eight characters.
  private static let idBeginning = DeviceKind.prefix.count + 1 + 8

  /// Returns the name of a device, followed by the beginning of its id if another device of the account has the same
  /// name.
  func name(of device: DeviceID) -> String? {
    guard let name = plainName(of: device) else { return nil }
    return namesakes(of: device).isEmpty ? name : "\(name) (\(device.description.prefix(Self.idBeginning)))"
  }

  func name(of peer: PeerView) -> String { name(of: peer.device) ?? printable(peer.name) }

  /// Returns the name of a device for a place that shows the id beside it.
  func plainName(of device: DeviceID) -> String? {
    replica.certificate(of: device).map { printable($0.request.name) }
  }

  /// Returns the account's other devices with the same name.
  func namesakes(of device: DeviceID) -> [DeviceID] {
    guard let name = replica.account.certificates[device]?.request.name else { return [] }
    return replica.account.liveDevices.filter { $0 != device && replica.account.certificates[$0]?.request.name == name }
  }

  /// Returns a device of the account by its displayed id, or by its name if exactly one device has it.
  func named(_ text: String) throws -> DeviceID {
    let all = replica.account.certificates.values
    if let device = try DeviceID.named(text, among: all.map(\.device)) { return device }
    let id = DeviceID.canonical(text)
    if id.hasPrefix("\(DeviceKind.prefix)-"), let fault = DeviceID.fault(inDisplayed: id) {
      throw Refusal(
        code: "device.mistyped",
        message: "\(printable(text)) is not a device's id: \(DeviceID.advice(onShort: text) ?? fault).")
    }
    let named = all.filter { $0.request.name == text }
    if let only = named.first, named.count == 1 { return only.device }
    guard named.isEmpty else {
      let ids = named.map(\.device.description).sorted().joined(separator: ", ")
      throw Refusal(
        code: "device.ambiguous",
        message: "\(printable(text)): \(named.count) devices have that name. Give the id of one: \(ids).")
    }
    throw Refusal(
      code: "device.unknown",
      message: "\(printable(text)): the account has no device with that id or name. See mesh device list.")
  }

  /// Returns whether the device belongs to this account, or to the owner of a share in which it participates.
  func isTrusted(_ device: DeviceID) -> Bool {
    guard let account = replica.certificate(of: device)?.account, !replica.isExcluded(device) else { return false }
    return account == replica.account.id
      || replica.zoneIDs.contains {
        replica.owner(of: $0) == account && replica.shareState($0)?.permission(replica.account.id) != nil
      }
  }

  /// Returns whether a device has nothing in common with this one any more, because it was revoked or no common zone is
  /// left.
  func hasNoPart(_ device: DeviceID) -> Bool {
    let own = replica.account.id
    guard let account = replica.certificate(of: device)?.account else { return false }
    return replica.isExcluded(device)
      || account != own
        && !replica.zoneIDs.contains { replica.isMember(account, of: $0) && replica.isMember(own, of: $0) }
  }

  /// Returns whether a device's account revoked it. A device that only waits for its confirmation isn't revoked.
  func isRevoked(_ device: DeviceID) -> Bool {
    guard let account = replica.certificate(of: device)?.account else { return false }
    return replica.accountState(account)?.revocations[device] != nil
  }
}
