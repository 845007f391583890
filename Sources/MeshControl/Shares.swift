public import FoundationEssentials

/// Asks for the shares that this node knows. `mesh share list`.
public struct SharesRequest: ControlRequest {
  public static let route = ControlRoute<SharesReport>.get("/v1/shares")

  /// Creates the request.
  public init() {}
}

/// The shares that a node knows.
public struct SharesReport: Codable, Hashable, Sendable {
  /// The shares, those that have ended included.
  public var shares: [ShareReport]

  package init(shares: [ShareReport]) { self.shares = shares }
}

/// Asks for one share. `mesh share show` and `mesh share invites`.
public struct ShareRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareReport>.post("/v1/shares/show")

  /// The share's id or the beginning of it, or its title if only one share has it.
  public var share: String

  /// Creates the request.
  public init(share: String) { self.share = share }
}

/// The permission of a participant in a share.
public enum SharePermission: String, Codable, Sendable, CaseIterable {
  /// The participant may read.
  case readOnly = "read-only"
  /// The participant may read and write.
  case readWrite = "read-write"
}

/// One share, as this node knows it.
public struct ShareReport: Codable, Hashable, Sendable {
  /// The role of this account in a share.
  public enum Role: String, Codable, Sendable {
    /// The share belongs to this account.
    case owner
    /// This account may read and write.
    case readWrite = "read-write"
    /// This account may read.
    case readOnly = "read-only"
    /// This account is no longer a member, or the owner has stopped the share.
    case ended
  }

  /// The id of the share.
  public var id: String
  /// The title of the share.
  public var title: String
  /// The table of the root record.
  public var table: String
  /// The key of the root record.
  public var key: ReportedValue
  /// The id of the owner's account.
  public var owner: String
  /// The name that the owner gave itself. It is nil until a device of the owner has been connected to this node.
  @OrNull public var ownerName: String?
  /// The role of this account.
  public var role: Role
  /// Whether the owner has stopped the share.
  public var stopped: Bool
  /// Why the share has ended for this account. It is nil if it has not.
  @OrNull public var reason: String?
  /// Why this device can't write to the share although the account may. It is nil if the device can.
  @OrNull public var cannotWrite: String?
  /// The number of live records.
  public var records: Int
  /// The id of the key epoch, if there is one.
  @OrNull public var epoch: String?
  /// The time of the last change set that is merged here, by its writer's clock. It is nil if there is none.
  @OrNull public var lastActivity: Date?
  /// The number of writes that were made here and are not in the share. See ``StatusReport/receipts``.
  public var receipts: Int
  /// The other accounts that are, or were, members.
  public var participants: [Participant]
  /// Every invite of the share, also those that are used up, expired or revoked.
  public var invites: [Invite]

  /// An account that is, or was, a member of the share.
  public struct Participant: Codable, Hashable, Sendable {
    /// The state of an account in a share.
    public enum Status: String, Codable, Sendable {
      /// The account is a member.
      case accepted
      /// The owner has removed the account.
      case removed
      /// The account has left.
      case left
      /// The owner has stopped sharing: the account was a member until then.
      case stopped
    }

    /// The id of the account.
    public var account: String
    /// The name that the account gave itself. It is nil until one of its devices has been connected to this node.
    @OrNull public var name: String?
    /// The state of the account in the share.
    public var status: Status
    /// The permission of the account. It is nil if the account is no longer a member.
    @OrNull public var permission: SharePermission?
    /// The devices of the account.
    public var devices: [Device]

    /// A device of a participant.
    public struct Device: Codable, Hashable, Sendable {
      /// The id of the device.
      public var device: String
      /// The name of the device.
      public var name: String

      package init(device: String, name: String) { (self.device, self.name) = (device, name) }
    }

    package init(
      account: String, name: String? = nil, status: Status, permission: SharePermission?, devices: [Device]
    ) {
      (self.account, self.name, self.status) = (account, name, status)
      (self.permission, self.devices) = (permission, devices)
    }
  }

  /// An invite to the share.
  public struct Invite: Codable, Hashable, Sendable {
    /// The state of an invite.
    public enum State: String, Codable, Sendable {
      /// The invite works.
      case open
      /// The invite has admitted as many accounts as it may.
      case used
      /// The time of the invite is over.
      case expired
      /// The owner has revoked the invite.
      case revoked
    }

    /// The id of the invite.
    public var id: String
    /// The permission of the accounts that it admits.
    public var permission: SharePermission
    /// The state of the invite.
    public var state: State
    /// How many accounts it still admits. It is nil for any number.
    @OrNull public var usesLeft: Int?
    /// When it expires. It is nil if it never does.
    @OrNull public var expires: Date?
    /// The only account that it admits. It is nil for any account.
    @OrNull public var account: String?

    package init(
      id: String, permission: SharePermission, state: State, usesLeft: Int?, expires: Date?, account: String?
    ) {
      (self.id, self.permission, self.state) = (id, permission, state)
      (self.usesLeft, self.expires, self.account) = (usesLeft, expires, account)
    }
  }

  package init(
    id: String, title: String, table: String, key: ReportedValue, owner: String, ownerName: String? = nil,
    role: Role, stopped: Bool, reason: String?, cannotWrite: String? = nil, records: Int, epoch: String?,
    lastActivity: Date?, receipts: Int = 0, participants: [Participant], invites: [Invite]
  ) {
    (self.id, self.title, self.table, self.key, self.owner, self.role) = (id, title, table, key, owner, role)
    self.ownerName = ownerName
    (self.stopped, self.reason, self.cannotWrite, self.records) = (stopped, reason, cannotWrite, records)
    (self.epoch, self.lastActivity, self.receipts) = (epoch, lastActivity, receipts)
    (self.participants, self.invites) = (participants, invites)
  }
}

/// Makes a share of a root record and the records that refer to it. `mesh share create`.
public struct ShareCreateRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareReport>.post("/v1/shares")

  /// The table of the root record.
  public var table: String
  /// The key of the root record, written as on the command line.
  public var key: String
  /// The title of the share. Nil stands for the table and the key.
  public var title: String?

  /// Creates the request.
  public init(table: String, key: String, title: String? = nil) {
    (self.table, self.key, self.title) = (table, key, title)
  }
}

/// Makes an invite with which other accounts can join a share. `mesh share invite`.
public struct ShareInviteRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareInviteReport>.post("/v1/shares/invite")

  /// The share's id or title.
  public var share: String
  /// The permission of the accounts that it admits.
  public var permission: SharePermission
  /// The time for which the invite works, in seconds, as the JSON has it. Nil stands for an invite that never expires.
  package var expiresSeconds: Double?
  /// How many accounts it admits. Nil stands for any number, admitted by any member.
  public var uses: UInt64?
  /// The only account that it admits.
  public var account: String?

  /// Creates the request.
  ///
  /// - Parameters:
  ///   - share: The share's id or title.
  ///   - permission: The permission of the accounts that the invite admits.
  ///   - expires: How long the invite works, at most a year. Nil stands for an invite that never expires.
  ///   - uses: How many accounts it admits. Nil stands for any number.
  ///   - account: The only account that it admits.
  public init(
    share: String, permission: SharePermission, expires: Duration? = nil, uses: UInt64? = 1, account: String? = nil
  ) {
    (self.share, self.permission) = (share, permission)
    self.expiresSeconds = expires?.inSeconds
    (self.uses, self.account) = (uses, account)
  }

  /// How long the invite works. It is nil if the invite never expires.
  public var expires: Duration? { expiresSeconds.map { .seconds(clamped: $0) } }
}

/// An invite to a share.
public struct ShareInviteReport: Codable, Hashable, Sendable {
  /// The id of the share.
  public var share: String
  /// The id of the invite.
  public var invite: String
  /// The invite as a text, which is a secret.
  public var link: String
  /// The addresses that the other machine dials.
  public var addresses: [String]
  /// The permission of the accounts that it admits.
  public var permission: SharePermission
  /// How many accounts it admits. It is nil for any number.
  @OrNull public var uses: UInt64?
  /// When it expires. It is nil if it works until it is revoked.
  @OrNull public var expires: Date?
  /// The id of the only account that it admits. It is nil for any account.
  @OrNull public var account: String?

  package init(
    share: String, invite: String, link: String, addresses: [String], permission: SharePermission, uses: UInt64?,
    expires: Date?, account: String?
  ) {
    (self.share, self.invite, self.link, self.addresses) = (share, invite, link, addresses)
    (self.permission, self.uses, self.expires, self.account) = (permission, uses, expires, account)
  }
}

/// Asks the members that an invite names for their offer, or joins the share. `mesh share join`.
public struct ShareJoinRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareJoinReport>.post("/v1/shares/join")

  /// The text of the invite.
  public var link: String
  /// Whether to join. If not, the node only asks for the offer.
  public var claims: Bool
  /// Addresses of members beside those in the invite, each HOST:PORT.
  public var peers: [String]?

  /// Creates the request.
  public init(link: String, claims: Bool, peers: [String] = []) {
    (self.link, self.claims, self.peers) = (link, claims, peers)
  }
}

/// The answer of a share's member.
public struct ShareJoinReport: Codable, Hashable, Sendable {
  /// How far joining is.
  public enum State: String, Codable, Sendable {
    /// The report describes the offer.
    case offered
    /// This account is a member.
    case joined
    /// Only another device can admit this account. Ask again later.
    case waiting
  }

  /// How far joining is.
  public var state: State
  /// The id of the share.
  public var share: String
  /// The title of the share.
  public var title: String
  /// The id of the owner's account.
  public var owner: String
  /// The name that the owner gave itself. It is nil until a device of the owner has been connected to this node.
  @OrNull public var ownerName: String?
  /// The table of the root record, if it is known.
  @OrNull public var table: String?
  /// The key of the root record, if it is known.
  @OrNull public var key: ReportedValue?
  /// The permission of this account, if it is known.
  @OrNull public var permission: SharePermission?
  /// Why this account has to wait. Otherwise it is nil.
  @OrNull public var reason: String?
  /// Whether this file has another record in the place of the root record. The share's records are held as long as it
  /// has.
  public var isRootTaken: Bool
  /// The id of another share here that has the same root record. Only one of the two is shown.
  @OrNull public var rival: String?
  /// Whether the account was a member already, so that the invite changed nothing.
  public var wasMember: Bool

  package init(
    state: State, share: String, title: String, owner: String, ownerName: String? = nil, table: String?,
    key: ReportedValue?, permission: SharePermission?, reason: String? = nil, isRootTaken: Bool = false,
    rival: String? = nil,
    wasMember: Bool = false
  ) {
    (self.state, self.share, self.title) = (state, share, title)
    (self.owner, self.ownerName) = (owner, ownerName)
    (self.table, self.key, self.permission, self.reason) = (table, key, permission, reason)
    (self.isRootTaken, self.rival, self.wasMember) = (isRootTaken, rival, wasMember)
  }
}

/// Changes a share. `mesh share uninvite`, `set-permission`, `remove`, `leave`, `stop` and `rename`.
public struct ShareChangeRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareReport>.post("/v1/shares/change")

  /// A change of a share.
  public enum Act: String, Codable, Sendable {
    /// Revokes an invite.
    case uninvite
    /// Makes a participant read-only or read-write.
    case setPermission
    /// Removes a participant.
    case remove
    /// Leaves the share.
    case leave
    /// Ends the share for all other accounts.
    case stop
    /// Renames the share.
    case rename
  }

  /// The share's id or title.
  public var share: String
  /// The change to make.
  public var act: Act
  /// The account's id, or the name of one of its devices, to set its permission or to remove it.
  public var account: String?
  /// The new permission.
  public var permission: SharePermission?
  /// The id of the invite to revoke.
  public var invite: String?
  /// Whether to keep the rows as private records when leaving.
  public var keepCopy: Bool?
  /// Whether to leave even if no device of the share's owner has some of the BLOBs that this account wrote.
  public var force: Bool?
  /// Whether to revert everything that the account ever wrote, on every device, when removing it.
  public var undo: Bool?
  /// The new title.
  public var title: String?

  /// Creates the request. Each act uses the parameters that it needs.
  public init(
    _ act: Act, share: String, account: String? = nil, permission: SharePermission? = nil, invite: String? = nil,
    keepCopy: Bool? = nil, force: Bool? = nil, undo: Bool? = nil, title: String? = nil
  ) {
    (self.act, self.share, self.account, self.permission) = (act, share, account, permission)
    (self.invite, self.keepCopy, self.force) = (invite, keepCopy, force)
    (self.undo, self.title) = (undo, title)
  }
}

/// Asks for the writes that were made here and are not in the share. `mesh share receipt`.
public struct ShareReceiptRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ShareReceiptReport>.post("/v1/shares/receipt")

  /// The share's id or title.
  public var share: String
  /// Whether to write them again, as far as the permission and the tables allow.
  public var restore: Bool?
  /// Whether to forget them.
  public var discard: Bool?

  /// Creates the request.
  public init(share: String, restore: Bool = false, discard: Bool = false) {
    (self.share, self.restore, self.discard) = (share, restore, discard)
  }
}

/// Writes that were made here and are not in the share: it rejected them, or ended before it had them.
public struct ShareReceiptReport: Codable, Hashable, Sendable {
  /// The writes that are left, the newest first.
  public var receipts: [Receipt]
  /// The number of writes that this request wrote again.
  public var restored: Int
  /// The number of writes that this request forgot.
  public var discarded: Int
  /// Records of other zones, such as those of a copy that was kept, whose rows are in the way of a restore.
  public var inTheWay: [Record]

  /// The table and the key of a record.
  public struct Record: Codable, Hashable, Sendable {
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue

    package init(table: String, key: ReportedValue) { (self.table, self.key) = (table, key) }
  }

  /// A write that is not in the share.
  public struct Receipt: Codable, Hashable, Sendable {
    /// Why a write is not in the share.
    public enum Reason: String, Codable, Sendable {
      /// The account was not permitted to write.
      case notPermitted
      /// The account lost its permission, or the share ended, before the write arrived.
      case cut
    }

    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// The values by column. It is nil if the record was deleted. An answer has at most 16 MiB of long BLOBs. For others
    /// it has an `asset` with the size, which restoring writes all the same.
    @OrNull public var values: [String: ReportedValue]?
    /// Why the write is not in the share.
    public var reason: Reason
    /// When the node noted it.
    public var noted: Date

    package init(table: String, key: ReportedValue, values: [String: ReportedValue]?, reason: Reason, noted: Date) {
      (self.table, self.key, self.values, self.reason, self.noted) = (table, key, values, reason, noted)
    }
  }

  package init(receipts: [Receipt], restored: Int = 0, discarded: Int = 0, inTheWay: [Record] = []) {
    (self.receipts, self.restored, self.discarded, self.inTheWay) = (receipts, restored, discarded, inTheWay)
  }
}
