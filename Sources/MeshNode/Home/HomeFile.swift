import MeshCore

/// The files of a home, by name.
public enum HomeFile: Hashable, Sendable {
  /// The settings for a person to edit (see `HomeConfiguration`). The file is written last when a home is created.
  case configuration
  /// The device's private keys.
  case deviceKey
  /// The account's signing key, on the machine that created the account or that replaced the key.
  case accountKey
  /// A key that is about to replace the account's key. It becomes `accountKey` once the account names it.
  case nextAccountKey
  /// The recovery key as a text to show, in UTF-8. The file is removed once the key has been shown.
  case recoveryKey
  /// The public statements that were signed for the account, with the keys that signed them.
  case accountState
  /// The epoch keys of a zone, where `id` is the zone's displayed id.
  case zone(id: String)
  /// The last signed number of each zone, kept outside the database so that a restored copy is noticed.
  case highWater
  /// The location of the home: the key's inode number, the time of its creation, and the machine's id.
  case place
  /// The device invites that this node printed, as far as it must remember them. The secrets are not in it.
  case deviceInvites
  /// The addresses from joining, and the devices that answered at them.
  case peers
  /// The tables that each app named to its sync engine.
  case appTables
  /// The device and inode number of a file without anything of mesh that a person has accepted as the database.
  case acceptedDatabase
  /// The database's write-ahead log, and the file to which it belongs.
  case databaseLog
  /// A directory with the bytes of assets that are not in their rows.
  case staging
  /// The socket at which the running daemon answers.
  case controlSocket
  /// The lock that a running daemon or a writing command holds.
  case lock

  /// The path below the home's directory.
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
    case .deviceInvites: "links"
    case .peers: "peers.json"
    case .appTables: "app-tables.json"
    case .acceptedDatabase: "accepted-database"
    case .databaseLog: "database-log"
    case .staging: "staging"
    case .controlSocket: "control.sock"
    case .lock: "lock"
    }
  }

  /// Whether only the file's owner may read it.
  public var isSecret: Bool {
    switch self {
    case .deviceKey, .accountKey, .nextAccountKey, .recoveryKey, .zone: true
    case .configuration, .accountState, .highWater, .place, .deviceInvites, .peers, .appTables, .acceptedDatabase,
      .databaseLog, .staging, .controlSocket, .lock:
      false
    }
  }

  /// The files except the configuration that are in the home's own directory or have a fixed place below it. The account
  /// comes first: without its keys, it would look like one that this device has begun to join.
  static let others: [HomeFile] = [
    .accountState, .highWater, .place, .deviceInvites, .peers, .appTables, .acceptedDatabase, .databaseLog, .deviceKey,
    .accountKey, .nextAccountKey, .recoveryKey, .controlSocket, .lock,
  ]

  /// Returns whether `name` is the name of a zone's keys in `zones`, or of an asset in `staging`.
  static func isName(_ name: String, in directory: String) -> Bool {
    switch directory {
    case "zones": name.hasPrefix("\(ZoneKind.prefix)-") && isID(name)
    case staging.name: name.utf8.count == 2 * AssetID.size && name.allSatisfy(\.isHexDigit)
    default: false
    }
  }

  /// Checks that a zone's file is named by an id. An id has no separators and no dots.
  func checkName() throws(HomeError) {
    guard case .zone(let id) = self else { return }
    guard Self.isID(id) else {
      throw HomeError(
        .name,
        "a zone's key file cannot be called “\(printable(id))”: an id has lower-case letters, digits and hyphens.")
    }
  }

  private static func isID(_ name: String) -> Bool {
    let allowed = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "-")
    }
    return allowed && (1...zoneNameLimit).contains(name.utf8.count)
  }

  /// The maximum length of a zone's name in bytes: twice that of a displayed id of 32 bytes.
  static let zoneNameLimit = 128
}
