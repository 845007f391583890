public import FoundationEssentials
import MeshCore

// Why a record has the values that it has.

/// `POST /v1/explain/record`.
public struct RecordRequest: Codable, Hashable, Sendable {
  public var table: String
  /// As a person writes it: a text, a number, or `x'…'`.
  public var key: String

  public init(table: String, key: String) {
    self.table = table
    self.key = key
  }
}

/// What each zone has of the record; the one whose row is shown comes first.
public struct RecordReport: Codable, Hashable, Sendable {
  public var records: [Record]
  public init(records: [Record]) { self.records = records }

  public struct Record: Codable, Hashable, Sendable {
    public var zone: String
    public var zoneName: String
    public var table: String
    public var key: ReportedValue
    /// Odd while it lives.
    public var generation: UInt64
    public var deleted: Bool
    /// Why it is not in its table; null where it is, or is deleted.
    @OrNull public var hold: HoldReport?
    /// Who made it, or deleted it; null of rows that were taken in.
    @OrNull public var by: Writer?
    /// The zone in which it lives on, where its delete was a move.
    @OrNull public var movedTo: String?
    public var columns: [Column]

    public init(
      zone: String, zoneName: String, table: String, key: ReportedValue, generation: UInt64, deleted: Bool,
      hold: HoldReport?, by: Writer?, movedTo: String? = nil, columns: [Column]
    ) {
      self.zone = zone
      self.zoneName = zoneName
      self.table = table
      self.key = key
      self.generation = generation
      self.deleted = deleted
      self.hold = hold
      self.by = by
      self.movedTo = movedTo
      self.columns = columns
    }
  }

  public struct Column: Codable, Hashable, Sendable {
    public var name: String
    public var value: ReportedValue
    public var by: Writer
    /// What the value overwrote; null where nothing is known of another.
    @OrNull public var beat: Beaten?
    /// Of a reference that the table shows as NULL or default, since its parent is not here; else null.
    @OrNull public var withheld: Withheld?

    public init(name: String, value: ReportedValue, by: Writer, beat: Beaten?, withheld: Withheld? = nil) {
      self.name = name
      self.value = value
      self.by = by
      self.beat = beat
      self.withheld = withheld
    }
  }

  public struct Withheld: Codable, Hashable, Sendable {
    /// What the table has in the place of the value.
    public var shown: ReportedValue
    public var waitsFor: HoldReport.Awaited
    public var wayOut: String

    public init(shown: ReportedValue, waitsFor: HoldReport.Awaited, wayOut: String) {
      self.shown = shown
      self.waitsFor = waitsFor
      self.wayOut = wayOut
    }
  }

  public struct Beaten: Codable, Hashable, Sendable {
    public var value: ReportedValue
    public var by: Writer
    /// Whoever overwrote it had seen it: an edit, and no conflict.
    public var seen: Bool

    public init(value: ReportedValue, by: Writer, seen: Bool) {
      self.value = value
      self.by = by
      self.seen = seen
    }
  }

  public struct Writer: Codable, Hashable, Sendable {
    public var device: String
    @OrNull public var deviceName: String?
    @OrNull public var account: String?
    /// By the writer's clock; null of what was there before, or was filled in by a migration.
    @OrNull public var written: Date?
    /// Whom the device names as the writer, if it brought the value from another zone; else null.
    @OrNull public var carried: Carried?

    public init(device: String, deviceName: String?, account: String?, written: Date?, carried: Carried? = nil) {
      self.device = device
      self.deviceName = deviceName
      self.account = account
      self.written = written
      self.carried = carried
    }
  }

  /// A writer as another device names it: that device alone has signed it in this zone.
  public struct Carried: Codable, Hashable, Sendable {
    public var device: String
    @OrNull public var deviceName: String?
    @OrNull public var account: String?
    @OrNull public var written: Date?

    public init(device: String, deviceName: String?, account: String?, written: Date?) {
      self.device = device
      self.deviceName = deviceName
      self.account = account
      self.written = written
    }
  }
}
