public import FoundationEssentials

/// Asks which device wrote each value of a record, and what it overwrote, in each zone that has it. `mesh explain
/// record`.
public struct RecordRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<RecordReport>.post("/v1/explain/record")

  /// The table of the record.
  public var table: String
  /// The key of the record, written as on the command line.
  public var key: String

  /// Creates the request.
  public init(table: String, key: String) { (self.table, self.key) = (table, key) }

  /// An hour: the node reads the whole log of the record's zone.
  public var timeLimit: Duration { .longWork }
}

/// A record as each zone has it.
public struct RecordReport: Codable, Hashable, Sendable {
  /// The records. The one that the table shows comes first.
  public var records: [Record]

  package init(records: [Record]) { self.records = records }

  /// A record in one zone.
  public struct Record: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The name of the zone.
    public var zoneName: String
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// How often the record was made and deleted. The number is odd while the record lives.
    public var generation: UInt64
    /// Whether the record is deleted.
    public var deleted: Bool
    /// Why the record is not in its table. It is nil if it is there, or deleted.
    @OrNull public var hold: HoldReport?
    /// The device that made or deleted the record. It is nil for rows that were taken in.
    @OrNull public var by: Writer?
    /// The zone in which the record lives on, if it is deleted here because it moved.
    @OrNull public var movedTo: String?
    /// The values of the record.
    public var columns: [Column]

    package init(
      zone: String, zoneName: String, table: String, key: ReportedValue, generation: UInt64, deleted: Bool,
      hold: HoldReport?, by: Writer?, movedTo: String? = nil, columns: [Column]
    ) {
      (self.zone, self.zoneName, self.table, self.key, self.generation) = (zone, zoneName, table, key, generation)
      (self.deleted, self.hold, self.by, self.movedTo, self.columns) = (deleted, hold, by, movedTo, columns)
    }
  }

  /// The value of a column, and its author.
  public struct Column: Codable, Hashable, Sendable {
    /// The name of the column.
    public var name: String
    /// The merged value.
    public var value: ReportedValue
    /// The device that wrote the value.
    public var by: Writer
    /// The value that it overwrote. It is nil if no other value is known.
    @OrNull public var beat: Beaten?
    /// The reference that the table doesn't show because its parent is not here. Otherwise it is nil.
    @OrNull public var withheld: Withheld?

    package init(name: String, value: ReportedValue, by: Writer, beat: Beaten?, withheld: Withheld? = nil) {
      (self.name, self.value, self.by, self.beat, self.withheld) = (name, value, by, beat, withheld)
    }
  }

  /// A reference that the table shows as NULL or as its default, because the parent is not here.
  public struct Withheld: Codable, Hashable, Sendable {
    /// The value that the table has in the place of the reference.
    public var shown: ReportedValue
    /// The parent.
    public var waitsFor: HoldReport.Awaited
    /// The way to bring the value back.
    public var wayOut: String

    package init(shown: ReportedValue, waitsFor: HoldReport.Awaited, wayOut: String) {
      (self.shown, self.waitsFor, self.wayOut) = (shown, waitsFor, wayOut)
    }
  }

  /// A value that was overwritten.
  public struct Beaten: Codable, Hashable, Sendable {
    /// The value.
    public var value: ReportedValue
    /// The device that wrote it.
    public var by: Writer
    /// Whether the author of the new value had seen this one. If not, it was a conflict.
    public var seen: Bool

    package init(value: ReportedValue, by: Writer, seen: Bool) { (self.value, self.by, self.seen) = (value, by, seen) }
  }

  /// The device that signed a value.
  public struct Writer: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var deviceName: String?
    /// The id of the device's account, if it is known.
    @OrNull public var account: String?
    /// When the value was written, by the writer's clock. It is nil for values from before the table was synchronized,
    /// and for values that a migration filled in.
    @OrNull public var written: Date?
    /// The author that the device names, if it brought the value from another zone. Otherwise it is nil.
    @OrNull public var carried: Carried?

    package init(device: String, deviceName: String?, account: String?, written: Date?, carried: Carried? = nil) {
      (self.device, self.deviceName, self.account) = (device, deviceName, account)
      (self.written, self.carried) = (written, carried)
    }
  }

  /// An author as another device names it. Only that other device has signed it in this zone.
  public struct Carried: Codable, Hashable, Sendable {
    /// The id of the author's device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var deviceName: String?
    /// The id of the device's account, if it is known.
    @OrNull public var account: String?
    /// When the value was written, if that is known.
    @OrNull public var written: Date?

    package init(device: String, deviceName: String?, account: String?, written: Date?) {
      (self.device, self.deviceName, self.account, self.written) = (device, deviceName, account, written)
    }
  }
}
