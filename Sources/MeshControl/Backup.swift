/// Copies the database, as it is at one moment, to a file. `mesh backup`.
public struct BackupRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<BackupReport>.post("/v1/backup")

  /// The file to make: an absolute path where no file is.
  public var file: String

  /// Creates the request.
  public init(file: String) { self.file = file }

  /// An hour: the node copies the whole database.
  public var timeLimit: Duration { .longWork }
}

/// A copy of a database.
public struct BackupReport: Codable, Hashable, Sendable {
  /// The file that was made.
  public var file: String
  /// The length of the file.
  public var bytes: Int
  /// The database that it is a copy of.
  public var database: String
  /// The home, which is not in the copy. It has the keys without which the file can't be this device's.
  public var home: String
  /// The synchronized tables. The file has every other table of the database as well.
  public var tables: [String]
  /// The BLOBs that the database itself is missing, and so is the copy.
  public var lackingAssets: LackingAssets

  package init(
    file: String, bytes: Int, database: String, home: String, tables: [String], lackingAssets: LackingAssets
  ) {
    (self.file, self.bytes, self.database) = (file, bytes, database)
    (self.home, self.tables, self.lackingAssets) = (home, tables, lackingAssets)
  }
}
