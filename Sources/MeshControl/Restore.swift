/// Restores a value that was overwritten or lost, or a record that was deleted, as a new edit. `mesh restore`.
public struct RestoreRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<RestoreReport>.post("/v1/restore")

  /// The table of the record.
  public var table: String?
  /// The key of the record, written as on the command line.
  public var key: String?
  /// The columns whose former values to restore. Without a column, the node restores a deleted record.
  public var columns: [String]?
  /// Whether to restore the records too that were deleted with the record because they refer to it. The record itself may
  /// be alive again. It then stays as it is.
  public var descendants: Bool?
  /// The zone of the record: its id or the beginning of it, or its name in mesh zones. Without one, the node restores the record
  /// that is shown, or else the one that was deleted last.
  public var zone: String?
  /// The number of a conflict, in the place of a record.
  public var conflict: Int64?

  /// Creates a request to restore a deleted record, or the former values of some of its columns.
  public init(table: String, key: String, columns: [String] = [], descendants: Bool = false, zone: String? = nil) {
    (self.table, self.key, self.columns, self.descendants, self.zone) = (table, key, columns, descendants, zone)
  }

  /// Creates a request to restore the value or the delete that lost in a conflict.
  public init(conflict: Int64) { self.conflict = conflict }

  /// An hour: the node reads the whole log of the record's zone.
  public var timeLimit: Duration { .longWork }
}

/// The values that a restore wrote.
public struct RestoreReport: Codable, Hashable, Sendable {
  /// The table of the record.
  public var table: String
  /// The key of the record.
  public var key: ReportedValue
  /// Whether a delete had lost, so that the record is deleted again.
  public var deleted: Bool
  /// Whether the record was alive and stays as it is. Only records that refer to it came back.
  public var unchanged: Bool
  /// The values that were written, by column.
  public var values: [String: ReportedValue]
  /// Columns that the history has and this table lacks. They are not restored.
  public var lacking: [String]
  /// Columns whose BLOB of more than 16 KiB is no longer here. They are not restored.
  public var gone: [String]
  /// Records that this one refers to and that are not here. It is held until they are.
  public var waitsFor: [HoldReport.Awaited]
  /// How many records that belong to it came back with it.
  public var descendants: Int

  package init(
    table: String, key: ReportedValue, deleted: Bool, unchanged: Bool = false, values: [String: ReportedValue],
    lacking: [String], gone: [String] = [], waitsFor: [HoldReport.Awaited], descendants: Int = 0
  ) {
    (self.table, self.key, self.deleted, self.unchanged) = (table, key, deleted, unchanged)
    self.values = values
    (self.lacking, self.gone, self.waitsFor, self.descendants) = (lacking, gone, waitsFor, descendants)
  }
}
