import MeshCore

// What is put back.

/// `POST /v1/restore`.
public struct RestoreRequest: Codable, Hashable, Sendable {
  public var table: String?
  /// As a person writes it: a text, a number, or `x'…'`.
  public var key: String?
  /// Whose former values are to come back; none where the record is deleted.
  public var columns: [String]?
  /// Of a deleted record: what went with it comes back as well.
  public var descendants: Bool?
  /// The number of a conflict, in the place of a record.
  public var conflict: Int64?

  public init(table: String, key: String, columns: [String] = [], descendants: Bool = false) {
    self.table = table
    self.key = key
    self.columns = columns
    self.descendants = descendants
  }

  public init(conflict: Int64) { self.conflict = conflict }
}

/// What was written, as an edit of now.
public struct RestoreReport: Codable, Hashable, Sendable {
  public var table: String
  public var key: ReportedValue
  /// What lost was a delete: the record is deleted again.
  public var deleted: Bool
  public var values: [String: ReportedValue]
  /// Columns that the history has and this table lacks: not restored.
  public var lacking: [String]
  /// Columns whose BLOB of more than 16 KiB is not here any more: not restored.
  public var gone: [String]
  /// Records that it refers to and that are not here: it is held till they are.
  public var waitsFor: [HoldReport.Awaited]
  /// How many records that belong to it came back with it.
  public var descendants: Int

  public init(
    table: String, key: ReportedValue, deleted: Bool, values: [String: ReportedValue], lacking: [String],
    gone: [String] = [], waitsFor: [HoldReport.Awaited], descendants: Int = 0
  ) {
    self.table = table
    self.key = key
    self.deleted = deleted
    self.values = values
    self.lacking = lacking
    self.gone = gone
    self.waitsFor = waitsFor
    self.descendants = descendants
  }
}
