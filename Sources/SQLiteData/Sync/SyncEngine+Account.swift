public import Foundation
import MeshControl
import MeshCore
import MeshNode

/// The account of an engine, as one of its devices knows it.
public struct SyncAccount: Hashable, Identifiable, Sendable {
  /// The id of the account.
  public var id: String
  /// The name of the account.
  public var name: String
  /// The id of this device.
  public var device: String
  /// The name of this device.
  public var deviceName: String
  /// Whether this device holds the account's key. It does if it created the account. Don't lose its home.
  public var holdsKey: Bool
}

/// A device of the account.
public struct SyncDevice: Hashable, Identifiable, Sendable {
  /// The id of the device.
  public var id: String
  /// The device's name.
  public var name: String
  /// Whether it is this device.
  public var isThis: Bool
  /// Whether a session with the device is open.
  public var isConnected: Bool
  /// The time at which the device joined the account.
  public var joined: Date
  /// The time at which the device was revoked, or nil while it is a member of the account.
  public var revoked: Date?
  /// Whether the device can invite and revoke devices although it doesn't hold the account's key.
  public var isAdministrator: Bool
}

/// An invite with which one device can join the account.
public struct DeviceInvite: Hashable, Sendable {
  /// The text for the other device. It is a secret until it is used or has expired.
  public var link: String
  /// The expiry of the invite.
  public var expires: Date
  /// The addresses that the other device dials.
  public var addresses: [String]
}

extension SyncEngine {
  /// Returns the account of this device. The first start creates one, unless this device has joined another.
  public func account() async throws -> SyncAccount {
    let report = try await perform(AccountRequest())
    return SyncAccount(
      id: report.account, name: report.name, device: report.device, deviceName: report.deviceName,
      holdsKey: report.holdsAccountKey)
  }

  /// Returns the devices of the account, in the order in which they joined. Revoked devices are included.
  public func devices() async throws -> [SyncDevice] {
    let connected = Set(try await perform(PeersRequest()).peers.filter(\.connected).compactMap(\.device))
    return try await perform(DevicesRequest()).devices.map { device in
      SyncDevice(
        id: device.device, name: device.name, isThis: device.isThis, isConnected: connected.contains(device.device),
        joined: device.certified, revoked: device.revoked, isAdministrator: device.isAdministrator)
    }
  }

  /// Creates an invite with which one other device can ``join(_:)`` the account.
  ///
  /// The device with the account's key can do that, and an administrator.
  ///
  /// - Parameter duration: The time for which the invite is valid.
  public func inviteDevice(expiresAfter duration: Duration = .seconds(15 * 60)) async throws -> DeviceInvite {
    let report = try await perform(InviteRequest(expires: duration))
    return DeviceInvite(link: report.link, expires: report.expires, addresses: report.addresses)
  }

  /// Excludes a device permanently. The other devices stop exchanging data with it and change their keys.
  ///
  /// - Parameter id: The id of the device.
  public func revokeDevice(_ id: SyncDevice.ID) async throws {
    _ = try await perform(RevokeRequest(device: id))
  }

  /// Makes this device a device of the account that created an invite, and starts the engine.
  ///
  /// The rows of this database become rows of the account. If both have a row with the same key, the values that were
  /// edited in the account stay.
  ///
  /// The account that the first start of the engine created for this device is given up, with its keys.
  ///
  /// - Parameter invite: The ``DeviceInvite/link`` of another device.
  /// - Throws: ``SyncError``: ``SyncError/Code/accountInUse`` if this device's account has other devices or shares. If
  ///   the invite doesn't work, nothing is given up that another device needs, and ``start()`` creates a new account.
  public func join(_ invite: String) async throws {
    try await SyncError.translating {
      let decoded = try DeviceInviteContent(text: invite)
      guard decoded.expires > plan.now else {
        throw SyncError(
          SyncError.Code(rawValue: "link.expired"), "The invite has expired. Make a new one: syncEngine.inviteDevice()")
      }
      var former: String?
      var remove: (() async throws -> Void)?
      if (try? Home.open(at: plan.home)) != nil {
        try await start()
        former = try await account().id
        guard former != decoded.account.description else { return }
        try await requireFreshAccount()
        await stopAndWait()
        remove = { [tables] in _ = try await Bookkeeping.remove(from: tables.database, of: tables.names) }
      }
      try await plan.joinHome(invite: invite, logger: logger, removing: remove)
      watch.reset()
      try await start()
      let current = decoded.account.description
      announce([
        .account(
          former.map { .switchAccounts(previousUser: $0, currentUser: current) } ?? .signIn(currentUser: current))
      ])
    }
  }

  /// Throws if another device or account relies on this device's account.
  private func requireFreshAccount() async throws {
    try requireOwnNode("join an account")
    let status = try await perform(StatusRequest())
    let devices = try await devices().filter { !$0.isThis && $0.revoked == nil }
    guard devices.isEmpty, status.zones.count <= 1 else {
      let reason =
        devices.isEmpty
        ? "it has shares" : "it has other devices: \(devices.map(\.name).joined(separator: ", "))"
      throw SyncError(
        .accountInUse,
        "This device can't join another account, because its account \(status.accountName) is in use: \(reason). Use another "
          + "database for the other account.")
    }
  }

  /// Deletes the rows of all synchronized tables on this device, and downloads them again from other devices.
  ///
  /// The rows stay on other devices, because the deletion isn't sent. Before the engine deletes anything, it sends all
  /// changes of this device. The conflicts that this device keeps are lost, and so are its kept BLOBs that were
  /// overwritten.
  ///
  /// - Throws: ``SyncError``, and then nothing was deleted. The reasons are that no other device of the account is
  ///   connected, that ``sendChanges(timeout:)`` failed, that another process runs the node, or that rows were written
  ///   in the meantime.
  public func deleteLocalData() async throws {
    try await start()
    try requireOwnNode("delete the local data")
    try await sendChanges()
    try await requireConnectedDevice()
    // Everything that is counted here has been sent when the second call returns.
    let count = try await Bookkeeping.changeSets(in: tables.database)
    try await sendChanges()
    try await requireConnectedDevice()
    await stopAndWait()
    let removal: Result<Bool, any Error>
    do {
      removal = .success(
        try await plan.withoutNode {
          try await Bookkeeping.remove(
            from: tables.database, of: tables.names, deletingRows: true, ifChangeSetsAre: count)
        })
    } catch {
      removal = .failure(error)
    }
    // A failure, such as a full disk, leaves the engine as it was.
    try await start()
    guard try removal.get() else {
      throw SyncError(
        .rowsWritten,
        "Nothing was deleted, because rows were written meanwhile, and other devices may not have them yet. Try again when "
          + "nothing writes to the database: try await syncEngine.deleteLocalData()")
    }
  }

  /// Throws if no device of the account is connected that could have received everything. A participant of a share has
  /// only the share.
  private func requireConnectedDevice() async throws {
    guard try await devices().contains(where: { !$0.isThis && $0.isConnected && $0.revoked == nil }) else {
      throw SyncError(
        .noDevice,
        "The local data can't be deleted, because no other device of the account is connected to download it from again."
      )
    }
  }

  private func requireOwnNode(_ what: String) throws {
    guard activity.role == .node else {
      throw SyncError(
        .otherNode,
        "This app can't \(what) while another process runs the node of \(plan.home). Stop that process (its id is in "
          + "\(plan.home)/lock), and try again.")
    }
  }
}
