public import FoundationEssentials
public import MeshCore

// What is asked of a node about shares, and what it says.

/// `GET /v1/shares`.
public struct SharesReport: Codable, Hashable, Sendable {
  public var shares: [ShareReport]
  public init(shares: [ShareReport]) { self.shares = shares }
}

/// One share, as this node knows it.
public struct ShareReport: Codable, Hashable, Sendable {
  public enum Role: String, Codable, Sendable {
    case owner
    case readWrite = "read-write"
    case readOnly = "read-only"
    case ended
  }

  public var id: String
  public var title: String
  public var table: String
  public var key: ReportedValue
  public var owner: String
  public var role: Role
  public var stopped: Bool
  /// Why this account has no part in it any more; null where it has.
  @OrNull public var reason: String?
  /// Why this device can't write to it though the account may; null where it can.
  @OrNull public var cannotWrite: String?
  public var records: Int
  @OrNull public var epoch: String?
  /// Of the last change set that is merged here, by its writer's clock; null where there is none.
  @OrNull public var lastActivity: Date?
  public var participants: [Participant]
  public var invites: [Invite]

  public struct Participant: Codable, Hashable, Sendable {
    public var account: String
    /// `accepted`, `removed` or `left`.
    public var status: String
    /// `read-only` or `read-write`; null of who is no member.
    @OrNull public var permission: String?
    public var devices: [Device]

    public struct Device: Codable, Hashable, Sendable {
      public var device: String
      public var name: String

      public init(device: String, name: String) {
        self.device = device
        self.name = name
      }
    }

    public init(account: String, status: String, permission: String?, devices: [Device]) {
      self.account = account
      self.status = status
      self.permission = permission
      self.devices = devices
    }
  }

  public struct Invite: Codable, Hashable, Sendable {
    public var id: String
    public var permission: String
    /// `open`, `used`, `expired` or `revoked`.
    public var state: String
    /// Null for any number.
    @OrNull public var usesLeft: Int?
    /// Null for never.
    @OrNull public var expires: Date?
    /// The only account that it lets in; null for any.
    @OrNull public var account: String?

    public init(id: String, permission: String, state: String, usesLeft: Int?, expires: Date?, account: String?) {
      self.id = id
      self.permission = permission
      self.state = state
      self.usesLeft = usesLeft
      self.expires = expires
      self.account = account
    }
  }

  public init(
    id: String, title: String, table: String, key: ReportedValue, owner: String, role: Role, stopped: Bool,
    reason: String?, cannotWrite: String? = nil, records: Int, epoch: String?, lastActivity: Date?,
    participants: [Participant], invites: [Invite]
  ) {
    self.id = id
    self.title = title
    self.table = table
    self.key = key
    self.owner = owner
    self.role = role
    self.stopped = stopped
    self.reason = reason
    self.cannotWrite = cannotWrite
    self.records = records
    self.epoch = epoch
    self.lastActivity = lastActivity
    self.participants = participants
    self.invites = invites
  }
}

/// `POST /v1/shares`.
public struct ShareCreateRequest: Codable, Hashable, Sendable {
  public var table: String
  public var key: String
  public var title: String?

  public init(table: String, key: String, title: String?) {
    self.table = table
    self.key = key
    self.title = title
  }
}

/// `POST /v1/shares/invite`.
public struct ShareInviteRequest: Codable, Hashable, Sendable {
  public var share: String
  public var permission: Permission
  /// Null for never.
  public var expiresSeconds: Double?
  /// Null for any number, let in by any member.
  public var uses: UInt64?
  public var account: String?

  public init(share: String, permission: Permission, expires: Duration?, uses: UInt64?, account: String?) {
    self.share = share
    self.permission = permission
    self.expiresSeconds = expires?.inSeconds
    self.uses = uses
    self.account = account
  }

  public var expires: Duration? { expiresSeconds.map { .seconds(clamped: $0, default: .zero) } }
}

public struct ShareInviteReport: Codable, Hashable, Sendable {
  public var share: String
  public var invite: String
  public var link: String
  public var addresses: [String]

  public init(share: String, invite: String, link: String, addresses: [String]) {
    self.share = share
    self.invite = invite
    self.link = link
    self.addresses = addresses
  }
}

/// `POST /v1/shares/join`.
public struct ShareJoinRequest: Codable, Hashable, Sendable {
  public var link: String
  /// False to be told what is offered, and no more.
  public var claims: Bool
  /// Where members are beside those that the link names, each HOST:PORT.
  public var peers: [String]?

  public init(link: String, claims: Bool, peers: [String] = []) {
    self.link = link
    self.claims = claims
    self.peers = peers
  }
}

public struct ShareJoinReport: Codable, Hashable, Sendable {
  public enum State: String, Codable, Sendable { case offered, joined, waiting }

  public var state: State
  public var share: String
  public var title: String
  public var owner: String
  /// The root record: its rows, and those that belong to it, come into the table and into those that refer to it.
  @OrNull public var table: String?
  @OrNull public var key: ReportedValue?
  @OrNull public var permission: String?
  /// Why it has to wait.
  @OrNull public var reason: String?
  /// The file has a record of its own where the root belongs: the share's records are held as long as that stands.
  public var isRootTaken: Bool
  /// The id of another share here that has the same root: of the two only one is shown.
  @OrNull public var rival: String?
  /// The account was a member before, with this permission, and the link changed nothing.
  public var wasMember: Bool

  public init(
    state: State, share: String, title: String, owner: String, table: String?, key: ReportedValue?,
    permission: String?, reason: String? = nil, isRootTaken: Bool = false, rival: String? = nil,
    wasMember: Bool = false
  ) {
    self.state = state
    self.share = share
    self.title = title
    self.owner = owner
    self.table = table
    self.key = key
    self.permission = permission
    self.reason = reason
    self.isRootTaken = isRootTaken
    self.rival = rival
    self.wasMember = wasMember
  }
}

/// `POST /v1/shares/change`.
public struct ShareChangeRequest: Codable, Hashable, Sendable {
  public enum Act: String, Codable, Sendable { case uninvite, setPermission, remove, leave, stop, rename }

  public var share: String
  public var act: Act
  public var account: String?
  public var permission: Permission?
  public var invite: String?
  /// Of `leave`: the rows stay, as records of this account's own.
  public var keepCopy: Bool?
  /// Of `remove`: everything that the account ever wrote goes, everywhere.
  public var undo: Bool?
  /// Of `rename`.
  public var title: String?

  public init(
    _ act: Act, share: String, account: String? = nil, permission: Permission? = nil, invite: String? = nil,
    keepCopy: Bool? = nil, undo: Bool? = nil, title: String? = nil
  ) {
    self.act = act
    self.share = share
    self.account = account
    self.permission = permission
    self.invite = invite
    self.keepCopy = keepCopy
    self.undo = undo
    self.title = title
  }
}

/// `POST /v1/shares/receipt`.
public struct ShareReceiptRequest: Codable, Hashable, Sendable {
  public var share: String
  /// It is written again, now, as far as permission and tables allow.
  public var restore: Bool?
  /// It is forgotten.
  public var discard: Bool?

  public init(share: String, restore: Bool = false, discard: Bool = false) {
    self.share = share
    self.restore = restore
    self.discard = discard
  }
}

/// What was written here to a share and not taken, the newest first.
public struct ShareReceiptReport: Codable, Hashable, Sendable {
  public var receipts: [Receipt]
  /// How many others were written again.
  public var restored: Int
  /// How many others were forgotten.
  public var discarded: Int
  /// Records of other zones, copies that were kept say, to which some would have been written that were not restored.
  public var inTheWay: [Record]

  public struct Record: Codable, Hashable, Sendable {
    public var table: String
    public var key: ReportedValue

    public init(table: String, key: ReportedValue) {
      self.table = table
      self.key = key
    }
  }

  public struct Receipt: Codable, Hashable, Sendable {
    public var table: String
    public var key: ReportedValue
    /// Null where the record was deleted.
    @OrNull public var values: [String: ReportedValue]?
    /// `notPermitted` or `cut`.
    public var reason: String
    public var noted: Date

    public init(table: String, key: ReportedValue, values: [String: ReportedValue]?, reason: String, noted: Date) {
      self.table = table
      self.key = key
      self.values = values
      self.reason = reason
      self.noted = noted
    }
  }

  public init(receipts: [Receipt], restored: Int = 0, discarded: Int = 0, inTheWay: [Record] = []) {
    self.receipts = receipts
    self.restored = restored
    self.discarded = discarded
    self.inTheWay = inTheWay
  }
}

/// The share that a question is about.
struct ShareRequest: Codable {
  let share: String
}
