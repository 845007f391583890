public import SQLiteDataQueries

/// The state of a row's synchronization. Apps query this table and join it to their own.
///
/// ```swift
/// RemindersList
///   .leftJoin(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }
///   .select { Row.Columns(remindersList: $0, isShared: $1.isShared ?? false) }
/// ```
///
/// It is a view over the tables of mesh in the same file, so you can't write to it. The connections of
/// ``defaultDatabase(path:configuration:)`` have it. If you open the database yourself, call `attachMetadatabase()` in
/// `prepareDatabase`.
///
/// A row is in it as soon as the engine's node has captured it, which takes milliseconds while the engine runs.
@Table("sqlitedata_metadata")
public struct SyncMetadata: Hashable, Identifiable, Sendable {
  /// The table and the primary key of a row.
  @Selection
  public struct ID: Hashable, Sendable {
    /// The text of the row's primary key. In ``SyncMetadata``, it is in lower case if the key's column collates
    /// `NOCASE`. Queries for the row's id find it in either case.
    public let recordPrimaryKey: String
    /// The table of the row.
    public let recordType: String
  }

  /// The table and the primary key of the parent of a row.
  @Selection
  public struct ParentID: Hashable, Sendable {
    /// The text of the parent's primary key.
    public let parentRecordPrimaryKey: String
    /// The table of the parent.
    public let parentRecordType: String
  }

  /// The table and the primary key of the row.
  public let id: ID
  /// The row to which this one refers with its table's only foreign key. Rows of private tables, and of tables with
  /// another number of foreign keys, have no parent.
  public let parentRecordID: ParentID?
  /// The share whose root is the row.
  @Column(as: Share?.JSONRepresentation.self)
  public let share: Share?
  /// Whether the row is the root of a share.
  public let isShared: Bool
  /// Whether another device has acknowledged a version of the row, or wrote one.
  public let hasLastKnownServerRecord: Bool
  /// Whether another device has acknowledged the current version of the row, or wrote it.
  public let isAcknowledged: Bool
  /// The number of other devices that have acknowledged the current version of the row.
  public let acknowledgedDevices: Int
  /// The number of other devices that have the row, or will have it: the account's, and those of other participants
  /// that have been connected to this one.
  public let devices: Int
  /// Whether a write of the row waits for the node, which sends it. A running node takes milliseconds.
  public let isPending: Bool
  /// The time at which a value of the row was last written, by the writer's clock, in nanoseconds since 1970.
  public let userModificationTime: Int64
  /// The reason that the row isn't in its table, or isn't shown or sent as it was merged, in the terms of `mesh held`.
  /// It is nil if there is no reason.
  public let heldReason: String?
  /// The message that says why the row is held, for example SQLite's message if the table refuses it.
  public let lastError: String?

  /// The text of the row's primary key.
  public var recordPrimaryKey: String { id.recordPrimaryKey }
  /// The table of the row.
  public var recordType: String { id.recordType }
}

extension SyncMetadata {
  /// Returns the query for the metadata of a row.
  ///
  /// - Parameter id: The ``PrimaryKeyedTable/syncMetadataID`` of the row.
  public static func find(_ id: ID) -> Where<SyncMetadata> { find([id]) }

  /// Returns the query for the metadata of rows.
  ///
  /// - Parameter ids: The ``PrimaryKeyedTable/syncMetadataID`` of each row.
  public static func find(_ ids: [ID]) -> Where<SyncMetadata> {
    find(
      ids.map { id in
        SQLQueryExpression<ID>(
          "sqlitedata_key(\(bind: id.recordType), \(bind: id.recordPrimaryKey)), \(bind: id.recordType)")
      })
  }
}

extension PrimaryKeyedTable where PrimaryKey.QueryOutput: IdentifierStringConvertible {
  /// The id of the row in ``SyncMetadata``.
  ///
  /// ```swift
  /// let metadata = try SyncMetadata.find(item.syncMetadataID).fetchOne(db)
  /// ```
  public var syncMetadataID: SyncMetadata.ID {
    SyncMetadata.ID(recordPrimaryKey: primaryKey.rawIdentifier, recordType: Self.tableName)
  }

  /// Returns the query for the metadata of a row.
  ///
  /// - Parameter primaryKey: The primary key of the row.
  public static func metadata(for primaryKey: PrimaryKey.QueryOutput) -> Where<SyncMetadata> {
    SyncMetadata.find(SyncMetadata.ID(recordPrimaryKey: primaryKey.rawIdentifier, recordType: tableName))
  }
}

extension PrimaryKeyedTableDefinition where PrimaryKey.QueryOutput: IdentifierStringConvertible {
  /// The id of the rows in ``SyncMetadata``, for a join.
  public var syncMetadataID: SQLQueryExpression<SyncMetadata.ID> {
    let key = primaryKey._tableColumns.map(\.queryFragment).joined(separator: ", ")
    // The column's collation decides whether a text and its lower case are equal. If so, mesh has the lower case.
    let canonical: QueryFragment = "iif(typeof(\(key)) = 'text' AND \(key) = lower(\(key)), lower(\(key)), \(key))"
    return SQLQueryExpression("\(canonical), \(quote: QueryValue.tableName, delimiter: .text)")
  }

  /// Returns an expression that is true if a row of ``SyncMetadata`` belongs to the row.
  public func hasMetadata(in metadata: SyncMetadata.TableColumns) -> SQLQueryExpression<Bool> {
    syncMetadataID.eq(metadata.id)
  }
}

/// The numbers of rows in each state of synchronization.
///
/// ```swift
/// @FetchOne(SyncMetadata.counts) var counts = SyncCounts()
/// ```
///
/// The query reads the metadata of every row. For the number of changes that a device is missing, observe
/// ``SyncEngine/progress`` instead.
@Selection
public struct SyncCounts: Hashable, Sendable {
  /// The rows with metadata.
  public let rows: Int
  /// The rows with a write or a delete that waits for the node.
  public let pending: Int
  /// The rows whose current version no other device has acknowledged.
  public let unacknowledged: Int
  /// The rows that are held.
  public let held: Int

  /// Creates counts. All are 0 by default, until the query has its results.
  public init(rows: Int = 0, pending: Int = 0, unacknowledged: Int = 0, held: Int = 0) {
    (self.rows, self.pending, self.unacknowledged, self.held) = (rows, pending, unacknowledged, held)
  }
}

extension SyncMetadata {
  /// The query for the numbers of rows in each state. Apps observe it.
  public static var counts: SQLQueryExpression<SyncCounts> {
    #sql(
      """
      SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT tbl, "key" FROM main.mesh_pending)),
        count(*) FILTER (WHERE NOT "isAcknowledged"), count("heldReason")
      FROM "sqlitedata_metadata"
      """, as: SyncCounts.self)
  }
}
