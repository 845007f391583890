public import FoundationEssentials

// What a node says of what it was asked to do.

/// `mesh verify`. The answer is yes only if every comparison is equal.
public struct VerifyReport: Codable, Hashable, Sendable {
  public var equal: Bool
  /// One for each zone and connected member.
  public var comparisons: [Comparison]
  /// Which program has the write lock, so that nothing can be said; null if none has.
  @OrNull public var locked: String?
  /// Records that are merged here as everywhere, and whose rows here are older since their table refuses that; at most 100.
  public var older: [Older]
  /// How many there are.
  public var olderCount: Int

  public struct Older: Codable, Hashable, Sendable {
    public var zone: String
    public var table: String
    public var key: ReportedValue

    public init(zone: String, table: String, key: ReportedValue) {
      self.zone = zone
      self.table = table
      self.key = key
    }
  }

  public struct Comparison: Codable, Hashable, Sendable {
    public enum Outcome: String, Codable, Sendable {
      case equal
      /// The same vector and another digest: an alarm.
      case unequal
      /// The vectors were not equal in time, or the member did not answer.
      case notInTime
      /// The digests don't cover all rows: some are not sent yet, which was waited for, or are too long to be sent.
      case unsentHere, unsentThere
    }

    public var zone: String
    public var device: String
    @OrNull public var name: String?
    public var outcome: Outcome
    /// This node's digest, in hexadecimal.
    public var here: String
    /// The member's; null where it gave none.
    @OrNull public var there: String?

    public init(zone: String, device: String, name: String?, outcome: Outcome, here: String, there: String?) {
      self.zone = zone
      self.device = device
      self.name = name
      self.outcome = outcome
      self.here = here
      self.there = there
    }
  }

  public init(
    comparisons: [Comparison], locked: String? = nil, older: [Older] = [], olderCount: Int = 0
  ) {
    // What members have said meanwhile may wait for the lock as well.
    self.comparisons = comparisons.map { comparison in
      var comparison = comparison
      if locked != nil, comparison.outcome == .equal { comparison.outcome = .notInTime }
      return comparison
    }
    self.equal = self.comparisons.allSatisfy { $0.outcome == .equal }
    self.locked = locked
    self.older = older
    self.olderCount = olderCount
  }
}

/// `mesh wait`.
public struct WaitReport: Codable, Hashable, Sendable {
  public var complete: Bool
  /// A changed schema, or rows, are being looked through: what they say is not captured yet.
  public var working: Bool
  /// Rows captured and not yet flushed.
  public var pending: Int
  /// Rows with a value that is too long to be sent.
  public var tooLong: Int
  /// Members that have not acknowledged everything, or from whom something has yet to come; and those that fetch long BLOBs.
  public var missing: [Missing]
  /// What this node lacks of long BLOBs itself.
  public var assets: LackingAssets
  /// Members that have all but some long BLOBs, which they don't fetch.
  public var without: [Missing]
  /// Which program has the write lock, so that something may wait; null if none has.
  @OrNull public var locked: String?

  public struct Missing: Codable, Hashable, Sendable {
    public var zone: String
    public var device: String
    @OrNull public var name: String?
    public var behind: PeerReport.Behind
    /// Null where it has not said what it lacks of what it acknowledged.
    @OrNull public var assets: LackingAssets?

    public init(zone: String, device: String, name: String?, behind: PeerReport.Behind, assets: LackingAssets?) {
      self.zone = zone
      self.device = device
      self.name = name
      self.behind = behind
      self.assets = assets
    }

    var isComplete: Bool { behind.here == 0 && behind.there == 0 && assets?.coming.assets == 0 }
  }

  /// - Parameter members: One for each member and zone in common.
  public init(
    working: Bool = false, pending: Int, tooLong: Int, members: [Missing], assets: LackingAssets = LackingAssets(),
    locked: String? = nil
  ) {
    missing = members.filter { !$0.isComplete }
    without = members.filter { $0.isComplete && ($0.assets?.absent.assets ?? 0) > 0 }
    // What members have sent meanwhile may wait for the lock as well.
    complete = locked == nil && !working && pending == 0 && tooLong == 0 && missing.isEmpty && assets.coming.assets == 0
    self.working = working
    self.pending = pending
    self.tooLong = tooLong
    self.assets = assets
    self.locked = locked
  }
}

/// `mesh track`.
public struct TrackReport: Codable, Hashable, Sendable {
  public var tables: [Table]

  public struct Table: Codable, Hashable, Sendable {
    public var name: String
    public var isPrivate: Bool
    /// Its records go with their root record into a share; those of others stay in the private zone.
    public var isShareable: Bool
    /// Rows that existed and were taken in now.
    public var rows: Int

    public init(name: String, isPrivate: Bool, isShareable: Bool, rows: Int) {
      self.name = name
      self.isPrivate = isPrivate
      self.isShareable = isShareable
      self.rows = rows
    }
  }

  public init(tables: [Table]) { self.tables = tables }
}

/// `mesh untrack`.
public struct UntrackReport: Codable, Hashable, Sendable {
  public var tables: [String]
  public init(tables: [String]) { self.tables = tables }
}

/// `mesh rescan`.
public struct RescanReport: Codable, Hashable, Sendable {
  public var tables: [String]
  /// Rows that were compared with what is merged.
  public var rows: Int
  /// Rows that had been written or deleted unnoticed, and are taken in.
  public var differences: Int

  public init(tables: [String], rows: Int, differences: Int) {
    self.tables = tables
    self.rows = rows
    self.differences = differences
  }
}

/// `mesh schema`: how the mesh's schema goes beyond this file's.
public struct SchemaReport: Codable, Hashable, Sendable {
  /// True after `--apply`; `missing` is then what was created.
  public var applied: Bool
  public var missing: [Missing]

  public struct Missing: Codable, Hashable, Sendable {
    public var table: String
    /// Whether the table is here: columns are missing, or it is not tracked.
    public var exists: Bool
    public var columns: [String]
    /// The SQL that creates them, built from the description.
    public var statements: [String]
    /// Why it cannot be created; null where it can.
    @OrNull public var refusal: String?

    public init(table: String, exists: Bool, columns: [String], statements: [String], refusal: String?) {
      self.table = table
      self.exists = exists
      self.columns = columns
      self.statements = statements
      self.refusal = refusal
    }
  }

  /// Columns, `CHECK`s and indexes that a connected device, or one that was, has in another form.
  public var different: [Difference]

  public struct Difference: Codable, Hashable, Sendable {
    public var table: String
    /// Empty for a `CHECK` or an index.
    public var column: String
    public var device: String
    @OrNull public var name: String?
    /// Its definition in this file, as SQL; empty for a `CHECK` or an index that this file lacks.
    public var here: String
    public var there: String

    public init(table: String, column: String, device: String, name: String?, here: String, there: String) {
      self.table = table
      self.column = column
      self.device = device
      self.name = name
      self.here = here
      self.there = there
    }
  }

  /// Parts of other devices' tables that this file's tables lack and mesh doesn't carry over: a line for each, with the reason.
  public var leftOut: [String]

  public init(applied: Bool, missing: [Missing], different: [Difference] = [], leftOut: [String] = []) {
    self.applied = applied
    self.missing = missing
    self.different = different
    self.leftOut = leftOut
  }
}

/// `mesh device invite`. The link is a secret until it is used or has expired.
public struct InviteReport: Codable, Hashable, Sendable {
  public var link: String
  public var expires: Date
  /// What the link tells the new device to dial.
  public var addresses: [String]

  public init(link: String, expires: Date, addresses: [String]) {
    self.link = link
    self.expires = expires
    self.addresses = addresses
  }
}

/// `mesh device list`.
public struct DevicesReport: Codable, Hashable, Sendable {
  public var devices: [Device]

  public struct Device: Codable, Hashable, Sendable {
    public var device: String
    public var name: String
    /// Whether it is the one that answers.
    public var isThis: Bool
    public var certified: Date
    /// Null while the device is a member.
    @OrNull public var revoked: Date?
    /// Whether it certifies and revokes devices for the account.
    public var isAdministrator: Bool
    /// Whether nobody who counts has certified it since the account's key was replaced or an administrator demoted: it takes
    /// no part until it is confirmed.
    public var isUnconfirmed: Bool

    public init(
      device: String, name: String, isThis: Bool, certified: Date, revoked: Date?, isAdministrator: Bool = false,
      isUnconfirmed: Bool = false
    ) {
      self.device = device
      self.name = name
      self.isThis = isThis
      self.certified = certified
      self.revoked = revoked
      self.isAdministrator = isAdministrator
      self.isUnconfirmed = isUnconfirmed
    }
  }

  public init(devices: [Device]) { self.devices = devices }
}

/// `mesh device revoke`.
public struct RevokeReport: Codable, Hashable, Sendable {
  public var device: String
  public var name: String
  public var revoked: Date
  /// Zones in which it was cut.
  public var zones: [String]

  public init(device: String, name: String, revoked: Date, zones: [String]) {
    self.device = device
    self.name = name
    self.revoked = revoked
    self.zones = zones
  }
}

/// `mesh account replace-key`.
public struct ReplaceKeyReport: Codable, Hashable, Sendable {
  /// How many keys the account has had before this one.
  public var generation: Int
  /// The devices of the account as they are now.
  public var devices: [DevicesReport.Device]

  public init(generation: Int, devices: [DevicesReport.Device]) {
    self.generation = generation
    self.devices = devices
  }
}

/// `mesh device restamp`.
public struct RestampReport: Codable, Hashable, Sendable {
  public var zones: [Zone]

  public struct Zone: Codable, Hashable, Sendable {
    public var zone: String
    public var name: String
    /// That were signed ahead of time and are taken back; what they wrote is written again.
    public var changeSets: Int

    public init(zone: String, name: String, changeSets: Int) {
      self.zone = zone
      self.name = name
      self.changeSets = changeSets
    }
  }

  public init(zones: [Zone]) { self.zones = zones }
}

/// `mesh account show`.
public struct AccountReport: Codable, Hashable, Sendable {
  public var account: String
  public var name: String
  public var device: String
  public var deviceName: String
  /// Whether the account's signing key is here.
  public var holdsAccountKey: Bool
  /// The device that made the account; null once its key was replaced.
  @OrNull public var keyHolder: String?
  /// Devices, by name and id, that certify and revoke devices for the account.
  public var administrators: [String]
  /// Whether the recovery key waits here to be shown.
  public var recoveryWaiting: Bool
  /// Members that are not revoked.
  public var devices: Int

  public init(
    account: String, name: String, device: String, deviceName: String, holdsAccountKey: Bool, keyHolder: String?,
    administrators: [String] = [], recoveryWaiting: Bool, devices: Int
  ) {
    self.account = account
    self.name = name
    self.device = device
    self.deviceName = deviceName
    self.holdsAccountKey = holdsAccountKey
    self.keyHolder = keyHolder
    self.administrators = administrators
    self.recoveryWaiting = recoveryWaiting
    self.devices = devices
  }
}

/// `mesh init`.
public struct InitReport: Codable, Hashable, Sendable {
  public var home: String
  public var account: String
  public var accountName: String
  public var device: String
  public var deviceName: String
  public var database: String
  /// Whether the database was created now.
  public var created: Bool
  /// Whether an account that existed was joined.
  public var joined: Bool
  /// Tables created and tracked because of `--adopt-schema`.
  public var adopted: [String]
  /// Parts of their tables that mesh didn't carry over: a line for each, with the reason.
  public var leftOut: [String]
  /// Addresses remembered.
  public var peers: [String]

  public init(
    home: String, account: String, accountName: String, device: String, deviceName: String, database: String,
    created: Bool, joined: Bool, adopted: [String] = [], leftOut: [String] = [], peers: [String] = []
  ) {
    self.home = home
    self.account = account
    self.accountName = accountName
    self.device = device
    self.deviceName = deviceName
    self.database = database
    self.created = created
    self.joined = joined
    self.adopted = adopted
    self.leftOut = leftOut
    self.peers = peers
  }
}
