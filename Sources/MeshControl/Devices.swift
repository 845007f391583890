public import FoundationEssentials

/// Asks for the devices of the account. `mesh device list`.
public struct DevicesRequest: ControlRequest {
  public static let route = ControlRoute<DevicesReport>.get("/v1/devices")

  /// Creates the request.
  public init() {}
}

/// The devices of an account.
public struct DevicesReport: Codable, Hashable, Sendable {
  /// The devices, those that were revoked included.
  public var devices: [Device]

  /// A device of an account.
  public struct Device: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device.
    public var name: String
    /// Whether this device is the one that answers.
    public var isThis: Bool
    /// When the account certified the device.
    public var certified: Date
    /// When the account revoked the device. It is nil while the device is a member.
    @OrNull public var revoked: Date?
    /// Whether the device certifies and revokes devices for the account.
    public var isAdministrator: Bool
    /// Whether the device takes no part until you confirm it. This is so if the account's key was replaced, or an
    /// administrator demoted, and no device that still counts has certified it.
    public var isUnconfirmed: Bool

    package init(
      device: String, name: String, isThis: Bool, certified: Date, revoked: Date?, isAdministrator: Bool = false,
      isUnconfirmed: Bool = false
    ) {
      (self.device, self.name, self.isThis, self.certified) = (device, name, isThis, certified)
      (self.revoked, self.isAdministrator, self.isUnconfirmed) = (revoked, isAdministrator, isUnconfirmed)
    }
  }

  package init(devices: [Device]) { self.devices = devices }
}

/// Makes an invite with which one device can join the account. `mesh device invite`.
///
/// The node refuses if it doesn't hold the account's key and is no administrator.
public struct InviteRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<InviteReport>.post("/v1/devices/invite")

  /// The time for which the invite works, in seconds, as the JSON has it.
  package var expiresSeconds: Double?

  /// Creates the request.
  ///
  /// - Parameter expires: How long the invite works, at most a year. Nil stands for 15 minutes.
  public init(expires: Duration? = nil) { expiresSeconds = expires?.inSeconds }

  /// How long the invite works.
  public var expires: Duration { expiresSeconds.map { .seconds(clamped: $0) } ?? .inviteExpires }
}

extension Duration {
  /// For a device's invite: it is carried from one screen to the next, not kept.
  package static let inviteExpires = Duration.seconds(15 * 60)
}

/// An invite for a device.
public struct InviteReport: Codable, Hashable, Sendable {
  /// The invite. Keep it secret until it is used or has expired.
  public var link: String
  /// When the invite expires.
  public var expires: Date
  /// The addresses that the new device dials.
  public var addresses: [String]

  package init(link: String, expires: Date, addresses: [String]) {
    (self.link, self.expires, self.addresses) = (link, expires, addresses)
  }
}

/// Excludes a device permanently. `mesh device revoke`.
public struct RevokeRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<RevokeReport>.post("/v1/devices/revoke")

  /// The device's id or the beginning of it, or its name if only one device has it.
  public var device: String

  /// Creates the request.
  public init(device: String) { self.device = device }
}

/// A device that was revoked.
public struct RevokeReport: Codable, Hashable, Sendable {
  /// The id of the device.
  public var device: String
  /// The name of the device.
  public var name: String
  /// When it was revoked.
  public var revoked: Date
  /// The zones that it is excluded from.
  public var zones: [String]

  package init(device: String, name: String, revoked: Date, zones: [String]) {
    (self.device, self.name, self.revoked, self.zones) = (device, name, revoked, zones)
  }
}

/// Changes the role of a device in the account. `mesh device promote`, `demote` and `confirm`.
public struct DeviceChangeRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<DevicesReport.Device>.post("/v1/devices/change")

  /// A change of a device's role.
  public enum Act: String, Codable, Sendable, CaseIterable {
    /// Makes the device an administrator.
    case promote
    /// Makes an administrator an ordinary device again.
    case demote
    /// Readmits a device that is unconfirmed.
    case confirm
  }

  /// The device's id or the beginning of it, or its name if only one device has it.
  public var device: String
  /// The change to make.
  public var act: Act

  /// Creates the request.
  public init(device: String, act: Act) { (self.device, self.act) = (device, act) }
}

/// Reverts what this device signed while its clock was ahead, and writes it again. `mesh device restamp`.
public struct RestampRequest: ControlRequest {
  public static let route = ControlRoute<RestampReport>.post("/v1/devices/restamp")

  /// Creates the request.
  public init() {}
}

/// The change sets that were signed ahead of time.
public struct RestampReport: Codable, Hashable, Sendable {
  /// The zones that this device wrote to.
  public var zones: [Zone]

  /// The change sets of one zone.
  public struct Zone: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The name of the zone.
    public var name: String
    /// The number of change sets that were reverted. The node writes their values again.
    public var changeSets: Int

    package init(zone: String, name: String, changeSets: Int) {
      (self.zone, self.name, self.changeSets) = (zone, name, changeSets)
    }
  }

  package init(zones: [Zone]) { self.zones = zones }
}

/// Asks for the account, its devices and its keys. `mesh account show`.
public struct AccountRequest: ControlRequest {
  public static let route = ControlRoute<AccountReport>.get("/v1/account")

  /// Creates the request.
  public init() {}
}

/// The account of a node.
public struct AccountReport: Codable, Hashable, Sendable {
  /// The id of the account.
  public var account: String
  /// The name of the account.
  public var name: String
  /// The id of this device.
  public var device: String
  /// The name of this device.
  public var deviceName: String
  /// Whether this machine holds the account's key.
  public var holdsAccountKey: Bool
  /// The device that made the account, by name and id. It is nil once the account's key was replaced.
  @OrNull public var keyHolder: String?
  /// The administrators, by name and id.
  public var administrators: [String]
  /// Whether the recovery key is on this machine and has not been shown yet.
  public var recoveryWaiting: Bool
  /// The number of devices that are not revoked.
  public var devices: Int

  package init(
    account: String, name: String, device: String, deviceName: String, holdsAccountKey: Bool, keyHolder: String?,
    administrators: [String] = [], recoveryWaiting: Bool, devices: Int
  ) {
    (self.account, self.name, self.device) = (account, name, device)
    (self.deviceName, self.holdsAccountKey, self.keyHolder) = (deviceName, holdsAccountKey, keyHolder)
    (self.administrators, self.recoveryWaiting, self.devices) = (administrators, recoveryWaiting, devices)
  }
}

/// Puts a new account key on this machine, with the recovery key. `mesh account replace-key`.
///
/// The request contains a secret. The node never logs it.
public struct ReplaceKeyRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ReplaceKeyReport>.post("/v1/account/key")

  /// The text of the recovery key.
  public var recovery: String
  /// Revoked devices to readmit, by id or name.
  public var readmit: [String]?

  /// Creates the request.
  public init(recovery: String, readmit: [String] = []) { (self.recovery, self.readmit) = (recovery, readmit) }
}

/// The account after its key was replaced.
public struct ReplaceKeyReport: Codable, Hashable, Sendable {
  /// How many keys the account has had before this one.
  public var generation: Int
  /// The devices of the account as they are now.
  public var devices: [DevicesReport.Device]

  package init(generation: Int, devices: [DevicesReport.Device]) {
    (self.generation, self.devices) = (generation, devices)
  }
}
