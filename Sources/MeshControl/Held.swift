public import FoundationEssentials

/// Asks for the records that are merged and not in their tables. `mesh held`.
public struct HeldRequest: ControlRequest {
  public static let route = ControlRoute<HeldReport>.get("/v1/held")

  /// Creates the request.
  public init() {}
}

/// The records that are merged and not in their tables.
public struct HeldReport: Codable, Hashable, Sendable {
  /// The number of records that are kept and not shown, and of change sets that are stored and not merged, by reason.
  public var counts: [String: Int]
  /// The records, 1,000 at most.
  public var records: [Record]
  /// Whether `records` lists all of them.
  public var complete: Bool
  /// The number of records that are kept for each table that was synchronized here until somebody untracked it. They
  /// don't count as held.
  public var untracked: [String: Int]

  package init(counts: [String: Int], records: [Record], complete: Bool, untracked: [String: Int] = [:]) {
    (self.counts, self.records, self.complete, self.untracked) = (counts, records, complete, untracked)
  }

  /// A record that is not in its table.
  public struct Record: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The name of the zone.
    public var zoneName: String
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// Why it is not in its table.
    public var hold: HoldReport

    package init(zone: String, zoneName: String, table: String, key: ReportedValue, hold: HoldReport) {
      (self.zone, self.zoneName, self.table, self.key, self.hold) = (zone, zoneName, table, key, hold)
    }
  }
}

/// Why a record is not in its table, and what would free it.
public struct HoldReport: Codable, Hashable, Sendable {
  /// The reason in one word for programs: `missing-parent`, `constraint`. The node's documentation lists them.
  public var reason: String
  /// SQLite's message, if there is one.
  @OrNull public var message: String?
  /// Since when the record is not there, if that is known.
  @OrNull public var since: Date?
  /// The records that must arrive. For `slot-taken`, the record that must leave.
  public var waitsFor: [Awaited]
  /// The columns whose merged values the table refuses, or all columns if the record has no row.
  public var refused: [Refused]
  /// The way out: what to do, as far as you can do something.
  public var wayOut: String

  package init(
    reason: String, message: String?, since: Date?, waitsFor: [Awaited], refused: [Refused] = [], wayOut: String
  ) {
    (self.reason, self.message, self.since) = (reason, message, since)
    (self.waitsFor, self.refused, self.wayOut) = (waitsFor, refused, wayOut)
  }

  /// A column of a version that the table refuses.
  public struct Refused: Codable, Hashable, Sendable {
    /// The column.
    public var column: String
    /// The merged value.
    public var merged: ReportedValue
    /// The value that the row has. It is null if there is no row.
    public var shown: ReportedValue
    /// Whether the record has a row.
    public var inTable: Bool

    package init(column: String, merged: ReportedValue, shown: ReportedValue, inTable: Bool) {
      (self.column, self.merged, self.shown, self.inTable) = (column, merged, shown, inTable)
    }
  }

  /// Another record that this one waits for.
  public struct Awaited: Codable, Hashable, Sendable {
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// The zone of the record, if it is in another zone.
    @OrNull public var zone: String?

    package init(table: String, key: ReportedValue, zone: String?) {
      (self.table, self.key, self.zone) = (table, key, zone)
    }
  }
}

/// Has the node look at everything that is held again, and returns when that is done. `mesh held retry`.
public struct RetryRequest: ControlRequest {
  public static let route = ControlRoute<RetryReport>.post("/v1/held/retry")

  /// Creates the request.
  public init() {}

  /// An hour: the node tries all held records.
  public var timeLimit: Duration { .longWork }
}

/// The result of looking at held records again.
public struct RetryReport: Codable, Hashable, Sendable {
  /// The number of records that the node looked at.
  public var tried: Int
  /// How many of them are in their tables now.
  public var shown: Int

  package init(tried: Int, shown: Int) { (self.tried, self.shown) = (tried, shown) }
}

/// Gives a record that its table refuses other values, as a new edit. `mesh held resolve`.
public struct ResolveRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ResolveReport>.post("/v1/held/resolve")

  /// The table of the record.
  public var table: String
  /// The key of the record, written as on the command line.
  public var key: String
  /// The values by column, written as on the command line.
  public var values: [String: String]
  /// Whether columns that you don't name keep what the row shows. Otherwise they get the merged values.
  public var keepShown: Bool?
  /// The zone. You can leave it out if only one zone has such a record with the key.
  public var zone: String?

  /// Creates the request.
  public init(table: String, key: String, values: [String: String], keepShown: Bool = false, zone: String? = nil) {
    (self.table, self.key, self.values, self.keepShown, self.zone) = (table, key, values, keepShown, zone)
  }
}

/// The record with its new values.
public struct ResolveReport: Codable, Hashable, Sendable {
  /// The id of the zone.
  public var zone: String
  /// The table of the record.
  public var table: String
  /// The key of the record.
  public var key: ReportedValue
  /// The values that the row has in the columns that were settled.
  public var values: [String: ReportedValue]

  package init(zone: String, table: String, key: ReportedValue, values: [String: ReportedValue]) {
    (self.zone, self.table, self.key, self.values) = (zone, table, key, values)
  }
}

/// Deletes held records on every device, as a new edit: all of them or none. `mesh held discard`.
public struct DiscardRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<DiscardReport>.post("/v1/held/discard")

  /// The table of the records.
  public var table: String
  /// The keys of the records, written as on the command line.
  public var keys: [String]
  /// The zone. You can leave it out if only one zone holds each of the records.
  public var zone: String?

  /// Creates the request.
  public init(table: String, keys: [String], zone: String? = nil) {
    (self.table, self.keys, self.zone) = (table, keys, zone)
  }
}

/// Asks which records a ``DiscardRequest`` with the same values would delete, and deletes nothing. The node refuses as it
/// would refuse that.
public struct DiscardableRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<DiscardReport>.post("/v1/held/discardable")

  /// The table of the records.
  public var table: String
  /// The keys of the records, written as on the command line.
  public var keys: [String]
  /// The zone. You can leave it out if only one zone holds each of the records.
  public var zone: String?

  /// Creates the request.
  public init(table: String, keys: [String], zone: String? = nil) {
    (self.table, self.keys, self.zone) = (table, keys, zone)
  }
}

/// Records that are deleted on every device.
public struct DiscardReport: Codable, Hashable, Sendable {
  /// The records that were deleted.
  public var discarded: [Record]

  package init(discarded: [Record]) { self.discarded = discarded }

  /// A record that is deleted.
  public struct Record: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// The command that brings the record back, and when it can.
    public var wayBack: String

    package init(zone: String, table: String, key: ReportedValue, wayBack: String) {
      (self.zone, self.table, self.key, self.wayBack) = (zone, table, key, wayBack)
    }
  }
}
