import MeshCore

/// The files of a home, by name.
public enum HomeFile: Hashable, Sendable {
  /// What a person may edit: `database`, `listen`, `advertise`, `peers`. Written last when a home is made.
  case configuration
  /// The device's private keys.
  case deviceKey
  /// The account's signing key: on the machine that made the account, or that replaced the key.
  case accountKey
  /// A key that is about to replace the account's: it becomes `accountKey` once the account names it.
  case nextAccountKey
  /// The recovery key as the text to be shown, in UTF-8; gone once it has been shown.
  case recoveryKey
  /// Public: what was signed for the account, and by which keys.
  case accountState
  /// The epoch keys of a zone; `id` is the zone's displayed id.
  case zone(id: String)
  /// The last number signed per zone, kept apart from the database so that a restored copy is noticed.
  case highWater
  /// Where the home lies: the key's place on the disk and the machine.
  case place
  /// Device links that this node printed, as far as it must remember them; the secrets are not in it.
  case links
  /// Addresses that joining brought, and which device answered where.
  case peers
  /// The tables that each app named to its sync engine.
  case appTables
  /// A directory: the bytes of assets that are not in their rows.
  case staging
  /// Where the running daemon answers.
  case controlSocket
  /// Held while a daemon or a writing verb runs.
  case lock

  /// Below the home's directory.
  public var name: String {
    switch self {
    case .configuration: "config.toml"
    case .deviceKey: "device.key"
    case .accountKey: "account.key"
    case .nextAccountKey: "account.key.next"
    case .recoveryKey: "recovery.key"
    case .accountState: "account/account.state"
    case .zone(let id): "zones/\(id)"
    case .highWater: "highwater"
    case .place: "place"
    case .links: "links"
    case .peers: "peers.json"
    case .appTables: "app-tables.json"
    case .staging: "staging"
    case .controlSocket: "control.sock"
    case .lock: "lock"
    }
  }

  /// Whether it must be readable by its owner alone.
  public var isSecret: Bool {
    switch self {
    case .deviceKey, .accountKey, .nextAccountKey, .recoveryKey, .zone: true
    case .configuration, .accountState, .highWater, .place, .links, .peers, .appTables, .staging, .controlSocket,
      .lock:
      false
    }
  }

  /// The files besides the configuration that are in the home's own directory or have a place of their own below it.
  static let others: [HomeFile] = [
    .deviceKey, .accountKey, .nextAccountKey, .recoveryKey, .accountState, .highWater, .place, .links, .peers,
    .appTables, .controlSocket, .lock,
  ]

  /// Whether `name` is that of a zone's keys in `zones`, or of an asset in `staging`.
  static func isName(_ name: String, in directory: String) -> Bool {
    switch directory {
    case "zones": name.hasPrefix("\(ZoneKind.prefix)-") && isID(name)
    case staging.name: name.utf8.count == 2 * AssetID.size && name.allSatisfy(\.isHexDigit)
    default: false
    }
  }

  /// A zone's file is named by an id, and an id has no separators, no dots and no surprises.
  func checkName() throws(HomeError) {
    guard case .zone(let id) = self else { return }
    guard Self.isID(id) else {
      throw HomeError(
        .name,
        "A zone's key file cannot be called “\(printable(id))”: an id has lower-case letters, digits and hyphens.")
    }
  }

  private static func isID(_ name: String) -> Bool {
    let allowed = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "-")
    }
    return allowed && (1...zoneNameLimit).contains(name.utf8.count)
  }

  /// Bytes; twice what a displayed id of 32 bytes takes.
  static let zoneNameLimit = 128
}
