// What is sent with a POST to the control socket. A key that is left out has its default, and `{}` may be left out too.

/// `POST /v1/track`.
public struct TrackRequest: Codable, Hashable, Sendable {
  public var tables: [String]
  /// Tables that are tracked and never shared.
  public var privateTables: [String]
  /// Take tables with integer keys although two devices' row 1 become one.
  public var integerKeys: Bool

  public init(tables: [String], privateTables: [String] = [], integerKeys: Bool = false) {
    self.tables = tables
    self.privateTables = privateTables
    self.integerKeys = integerKeys
  }

  private enum CodingKeys: String, CodingKey {
    case tables
    case privateTables = "private"
    case integerKeys
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    tables = try container.decodeIfPresent([String].self, forKey: .tables) ?? []
    privateTables = try container.decodeIfPresent([String].self, forKey: .privateTables) ?? []
    integerKeys = try container.decodeIfPresent(Bool.self, forKey: .integerKeys) ?? false
  }
}

/// `POST /v1/untrack`.
struct UntrackRequest: Codable {
  let tables: [String]
}

/// `POST /v1/rescan`.
struct RescanRequest: Codable {
  let tables: [String]?
}

/// `POST /v1/verify` and `POST /v1/wait`.
struct TimeoutRequest: Codable {
  let timeoutSeconds: Double?

  var timeout: Duration { .seconds(clamped: timeoutSeconds, default: ControlDefaults.timeout) }
}

/// `POST /v1/devices/invite`.
struct InviteRequest: Codable {
  let expiresSeconds: Double?

  var expires: Duration { .seconds(clamped: expiresSeconds, default: ControlDefaults.inviteExpires) }
}

/// `POST /v1/devices/revoke`.
struct RevokeRequest: Codable {
  let device: String
}

/// `POST /v1/devices/change`.
public struct DeviceChangeRequest: Codable, Hashable, Sendable {
  public enum Act: String, Codable, Sendable, CaseIterable { case promote, demote, confirm }

  /// An id, the beginning of one, or a name that only one device has.
  public var device: String
  public var act: Act

  public init(device: String, act: Act) {
    self.device = device
    self.act = act
  }
}

/// `POST /v1/account/key`. A secret: it is never logged.
public struct ReplaceKeyRequest: Codable, Hashable, Sendable {
  /// The recovery key's text.
  public var recovery: String
  /// Revoked devices, by id or name, that take part again.
  public var readmit: [String]?

  public init(recovery: String, readmit: [String] = []) {
    self.recovery = recovery
    self.readmit = readmit
  }
}

/// `POST /v1/assets/show`, `fetch` and `evict`.
public struct AssetRequest: Codable, Hashable, Sendable {
  public var table: String
  /// As `mesh explain record` takes it. Of `fetch` and `show` null for all that rows of the table wait for.
  public var key: String?
  /// Null for all of the record.
  public var column: String?
  /// Of `evict`: though no other device is known to have it.
  public var force: Bool

  public init(table: String, key: String?, column: String? = nil, force: Bool = false) {
    self.table = table
    self.key = key
    self.column = column
    self.force = force
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    table = try container.decode(String.self, forKey: .table)
    key = try container.decodeIfPresent(String.self, forKey: .key)
    column = try container.decodeIfPresent(String.self, forKey: .column)
    force = try container.decodeIfPresent(Bool.self, forKey: .force) ?? false
  }
}

/// `POST /v1/assets/policy`.
struct AssetPolicyRequest: Codable {
  let table: String
  let policy: AssetPoliciesReport.Policy
}

/// What holds where the caller names nothing.
public enum ControlDefaults {
  /// For `verify` and `wait`: long enough for a backlog, short enough for a person who looks on.
  public static let timeout = Duration.seconds(60)
  /// A link is carried from one screen to the next, not kept.
  public static let inviteExpires = Duration.seconds(15 * 60)
}

extension Duration {
  /// Between nothing and the longest that can be asked for; what is no number counts as nothing.
  static func seconds(clamped value: Double?, default fallback: Duration) -> Duration {
    guard let value else { return fallback }
    guard value > 0 else { return .zero }
    return .milliseconds(Int64(min(value, Duration.longest.inSeconds) * 1000))
  }

  /// In seconds, as the requests carry it.
  public var inSeconds: Double { self / .seconds(1) }
}
