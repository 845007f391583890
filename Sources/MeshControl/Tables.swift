/// Synchronizes tables from now on. `mesh track`.
///
/// The node checks all tables first. A table that is synchronized already is no error.
public struct TrackRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<TrackReport>.post("/v1/track")

  /// The tables to synchronize. Those of `privateTables` and `shareableTables` come in addition.
  public var tables: [String]
  /// Tables to synchronize and never to share.
  public var privateTables: [String]
  /// Tables whose rows may be shared although the tables were private before they were untracked. Other tables that were
  /// private stay so.
  public var shareableTables: [String]
  /// Whether to accept tables with integer keys, although row 1 of two devices becomes one row.
  public var integerKeys: Bool
  /// The policies of columns: for each table, its columns and `last`, `greatest`, `least`, `counter` or
  /// `keepBoth`.
  public var policies: [String: [String: String]]

  /// Creates the request.
  public init(
    tables: [String], privateTables: [String] = [], shareableTables: [String] = [], integerKeys: Bool = false,
    policies: [String: [String: String]] = [:]
  ) {
    (self.tables, self.privateTables, self.shareableTables) = (tables, privateTables, shareableTables)
    (self.integerKeys, self.policies) = (integerKeys, policies)
  }

  private enum CodingKeys: String, CodingKey {
    case tables
    case privateTables = "private"
    case shareableTables = "shareable"
    case integerKeys, policies
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    tables = try container.decodeIfPresent([String].self, forKey: .tables) ?? []
    privateTables = try container.decodeIfPresent([String].self, forKey: .privateTables) ?? []
    shareableTables = try container.decodeIfPresent([String].self, forKey: .shareableTables) ?? []
    integerKeys = try container.decodeIfPresent(Bool.self, forKey: .integerKeys) ?? false
    policies = try container.decodeIfPresent([String: [String: String]].self, forKey: .policies) ?? [:]
  }

  /// An hour: the node takes in all rows.
  public var timeLimit: Duration { .longWork }
}

/// The tables that are synchronized from now on.
public struct TrackReport: Codable, Hashable, Sendable {
  /// The tables, in the order of the request.
  public var tables: [Table]

  /// A table that is synchronized.
  public struct Table: Codable, Hashable, Sendable {
    /// The name of the table.
    public var name: String
    /// Whether the table is never shared.
    public var isPrivate: Bool
    /// Whether its records go into a share with their root record.
    public var isShareable: Bool
    /// The number of rows that existed and were taken in now.
    public var rows: Int
    /// Whether the table was synchronized before the request.
    public var wasTracked: Bool

    package init(name: String, isPrivate: Bool, isShareable: Bool, rows: Int, wasTracked: Bool) {
      (self.name, self.isPrivate, self.isShareable) = (name, isPrivate, isShareable)
      (self.rows, self.wasTracked) = (rows, wasTracked)
    }
  }

  /// One text for each fault of a table that is tracked all the same, with its way out.
  public var warnings: [String]

  package init(tables: [Table], warnings: [String] = []) { (self.tables, self.warnings) = (tables, warnings) }
}

/// Stops synchronizing tables. Their rows stay, here and on every other device. `mesh untrack`.
public struct UntrackRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<UntrackReport>.post("/v1/untrack")

  /// The tables that are no longer to be synchronized.
  public var tables: [String]

  /// Creates the request.
  public init(tables: [String]) { self.tables = tables }

  /// An hour: the node may look through all rows.
  public var timeLimit: Duration { .longWork }
}

/// The tables that are no longer synchronized.
public struct UntrackReport: Codable, Hashable, Sendable {
  /// The tables that were synchronized until now.
  public var tables: [String]

  package init(tables: [String]) { self.tables = tables }
}

/// Compares rows with what is merged, and captures the differences. `mesh rescan`.
public struct RescanRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<RescanReport>.post("/v1/rescan")

  /// The tables. Nil or an empty array stands for all tables.
  public var tables: [String]?

  /// Creates the request.
  public init(tables: [String] = []) { self.tables = tables }

  /// An hour: the node may look through all rows.
  public var timeLimit: Duration { .longWork }
}

/// The result of a comparison.
public struct RescanReport: Codable, Hashable, Sendable {
  /// The tables that were compared.
  public var tables: [String]
  /// The number of rows that were compared with what is merged.
  public var rows: Int
  /// The number of rows that had been written or deleted unnoticed, and are captured now.
  public var differences: Int

  package init(tables: [String], rows: Int, differences: Int) {
    (self.tables, self.rows, self.differences) = (tables, rows, differences)
  }
}

/// Asks for the tables and columns of the mesh that this file lacks, or has in another form. `mesh schema`.
public struct SchemaRequest: ControlRequest {
  public static let route = ControlRoute<SchemaReport>.get("/v1/schema")

  /// Creates the request.
  public init() {}
}

/// Creates the tables and columns of the mesh that this file lacks, and synchronizes them. `mesh schema --apply`.
public struct ApplySchemaRequest: ControlRequest {
  public static let route = ControlRoute<SchemaReport>.post("/v1/schema")

  /// Creates the request.
  public init() {}

  /// An hour: the node fills the tables.
  public var timeLimit: Duration { .longWork }
}

/// How the mesh's schema goes beyond this file's.
public struct SchemaReport: Codable, Hashable, Sendable {
  /// Whether `missing` lists what was created, and not what is missing.
  public var applied: Bool
  /// The tables that are missing, or are missing columns, or are not synchronized.
  public var missing: [Missing]

  /// A table of the mesh that this file lacks in part.
  public struct Missing: Codable, Hashable, Sendable {
    /// The name of the table.
    public var table: String
    /// Whether the table is here. It is then missing columns, or it is not synchronized.
    public var exists: Bool
    /// The name that the table has here, if other devices renamed it.
    @OrNull public var former: String?
    /// The missing columns.
    public var columns: [String]
    /// Those of them that other devices have in place of a column of this file, by that column's name.
    public var renamed: [String: String]
    /// The SQL that creates them.
    public var statements: [String]
    /// Why the node can't create them. It is nil if the node can.
    @OrNull public var refusal: String?

    package init(
      table: String, exists: Bool, former: String?, columns: [String], renamed: [String: String] = [:],
      statements: [String], refusal: String?
    ) {
      (self.table, self.exists, self.former, self.columns) = (table, exists, former, columns)
      self.renamed = renamed
      (self.statements, self.refusal) = (statements, refusal)
    }
  }

  /// Columns, `CHECK`s and indexes that another device has in another form.
  public var different: [Difference]

  /// A part of a table that another device has in another form.
  public struct Difference: Codable, Hashable, Sendable {
    /// The name of the table.
    public var table: String
    /// The column. It is empty for a `CHECK` or an index.
    public var column: String
    /// The id of the other device.
    public var device: String
    /// The name of the other device, if it is known.
    @OrNull public var name: String?
    /// The definition in this file, as SQL. It is empty for a `CHECK` or an index that this file lacks.
    public var here: String
    /// The definition in the other device's file, as SQL.
    public var there: String

    package init(table: String, column: String, device: String, name: String?, here: String, there: String) {
      (self.table, self.column, self.device) = (table, column, device)
      (self.name, self.here, self.there) = (name, here, there)
    }
  }

  /// The parts of other devices' tables that this file lacks and mesh doesn't carry over, with the reasons.
  public var leftOut: [String]

  /// The tables of which records are held here, and that no device has described to this one.
  public var undescribed: [String]

  /// The columns with a policy other than `last`.
  public var policies: [Policy]

  /// The policy of a column.
  public struct Policy: Codable, Hashable, Sendable {
    /// The name of the table.
    public var table: String
    /// The name of the column.
    public var column: String
    /// `greatest`, `least`, `counter` or `keepBoth`.
    public var policy: String

    package init(table: String, column: String, policy: String) {
      (self.table, self.column, self.policy) = (table, column, policy)
    }
  }

  package init(
    applied: Bool, missing: [Missing], different: [Difference] = [], leftOut: [String] = [],
    undescribed: [String] = [], policies: [Policy] = []
  ) {
    (self.applied, self.missing, self.different, self.leftOut) = (applied, missing, different, leftOut)
    (self.undescribed, self.policies) = (undescribed, policies)
  }
}
