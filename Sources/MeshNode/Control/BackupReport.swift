/// `mesh backup`.
public struct BackupReport: Codable, Hashable, Sendable {
  /// The file that was made.
  public var file: String
  public var bytes: Int
  /// What it is a copy of.
  public var database: String
  /// The home, which is not in it: the keys without which the file can't take part in the mesh as this device.
  public var home: String
  /// The synchronized tables. Every other table of the database is in the file as well.
  public var tables: [String]
  /// BLOBs that the database lacks, and so does the file: on demand, evicted, or still on their way.
  public var lackingAssets: LackingAssets

  public init(
    file: String, bytes: Int, database: String, home: String, tables: [String], lackingAssets: LackingAssets
  ) {
    self.file = file
    self.bytes = bytes
    self.database = database
    self.home = home
    self.tables = tables
    self.lackingAssets = lackingAssets
  }
}

/// `POST /v1/backup`.
struct BackupRequest: Codable {
  /// Absolute.
  let file: String
}
