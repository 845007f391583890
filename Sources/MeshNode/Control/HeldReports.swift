public import FoundationEssentials

// What is merged and not in its table.

/// `GET /v1/held`.
public struct HeldReport: Codable, Hashable, Sendable {
  /// By reason: records that are kept and not shown, and change sets that are stored and not merged.
  public var counts: [String: Int]
  public var records: [Record]
  /// All records are listed.
  public var complete: Bool

  public init(counts: [String: Int], records: [Record], complete: Bool) {
    self.counts = counts
    self.records = records
    self.complete = complete
  }

  public struct Record: Codable, Hashable, Sendable {
    public var zone: String
    public var zoneName: String
    public var table: String
    public var key: ReportedValue
    public var hold: HoldReport

    public init(zone: String, zoneName: String, table: String, key: ReportedValue, hold: HoldReport) {
      self.zone = zone
      self.zoneName = zoneName
      self.table = table
      self.key = key
      self.hold = hold
    }
  }
}

/// Why a record is not in its table, and what would free it.
public struct HoldReport: Codable, Hashable, Sendable {
  public var reason: String
  /// SQLite's own words.
  @OrNull public var message: String?
  /// Since when it is not there; null where that is not known.
  @OrNull public var since: Date?
  /// The records that have to come; or that has to go, where it has the row.
  public var waitsFor: [Awaited]
  /// The columns whose merged values the table refuses; or all, if the record has no row.
  public var refused: [Refused]
  public var wayOut: String

  public init(
    reason: String, message: String?, since: Date?, waitsFor: [Awaited], refused: [Refused] = [], wayOut: String
  ) {
    self.reason = reason
    self.message = message
    self.since = since
    self.waitsFor = waitsFor
    self.refused = refused
    self.wayOut = wayOut
  }

  /// A column of a version that the table refuses.
  public struct Refused: Codable, Hashable, Sendable {
    public var column: String
    public var merged: ReportedValue
    /// What the row has.
    public var shown: ReportedValue
    /// The record has a row; else `shown` is null.
    public var inTable: Bool

    public init(column: String, merged: ReportedValue, shown: ReportedValue, inTable: Bool) {
      self.column = column
      self.merged = merged
      self.shown = shown
      self.inTable = inTable
    }
  }

  public struct Awaited: Codable, Hashable, Sendable {
    public var table: String
    public var key: ReportedValue
    /// Where that record is, if it is in another zone.
    @OrNull public var zone: String?

    public init(table: String, key: ReportedValue, zone: String?) {
      self.table = table
      self.key = key
      self.zone = zone
    }
  }
}

/// `POST /v1/held/discard`.
public struct DiscardRequest: Codable, Hashable, Sendable {
  public var table: String
  /// As `POST /v1/explain/record` has it, each.
  public var keys: [String]
  /// Null where one zone alone holds each of them.
  public var zone: String?

  public init(table: String, keys: [String], zone: String? = nil) {
    self.table = table
    self.keys = keys
    self.zone = zone
  }
}

/// Records that are deleted everywhere, from now on.
public struct DiscardReport: Codable, Hashable, Sendable {
  public var discarded: [Record]
  public init(discarded: [Record]) { self.discarded = discarded }

  public struct Record: Codable, Hashable, Sendable {
    public var zone: String
    public var table: String
    public var key: ReportedValue

    public init(zone: String, table: String, key: ReportedValue) {
      self.zone = zone
      self.table = table
      self.key = key
    }
  }
}

/// `POST /v1/held/resolve`.
public struct ResolveRequest: Codable, Hashable, Sendable {
  public var table: String
  public var key: String
  /// By the name of the column, as a person writes them.
  public var values: [String: String]
  /// Columns that are not named keep what the row shows.
  public var keepShown: Bool
  public var zone: String?

  public init(table: String, key: String, values: [String: String], keepShown: Bool = false, zone: String? = nil) {
    self.table = table
    self.key = key
    self.values = values
    self.keepShown = keepShown
    self.zone = zone
  }
}

/// The record as it is settled: an edit of now.
public struct ResolveReport: Codable, Hashable, Sendable {
  public var zone: String
  public var table: String
  public var key: ReportedValue
  /// What the row has in the columns that were settled.
  public var values: [String: ReportedValue]

  public init(zone: String, table: String, key: ReportedValue, values: [String: ReportedValue]) {
    self.zone = zone
    self.table = table
    self.key = key
    self.values = values
  }
}

/// `POST /v1/held/retry`.
public struct RetryReport: Codable, Hashable, Sendable {
  /// Records that were looked at.
  public var tried: Int
  /// Of them, those that are in their tables now.
  public var shown: Int

  public init(tried: Int, shown: Int) {
    self.tried = tried
    self.shown = shown
  }
}
