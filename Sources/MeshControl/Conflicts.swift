public import FoundationEssentials

/// Asks for values that lost against a concurrent one, the newest first, page by page. `mesh conflicts`.
///
/// A parameter that you leave out restricts nothing.
public struct ConflictsRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<ConflictsReport>.post("/v1/conflicts")

  /// Only conflicts in this table.
  public var table: String?
  /// Only conflicts in this zone: its id or the beginning of it, or its name in mesh zones.
  public var zone: String?
  /// Only conflicts in which this device wrote the value that lost, or the one that won: its name or id.
  public var device: String?
  /// Only conflicts that were found at this time or later.
  public var since: Date?
  /// The number of the last conflict of the page before.
  public var after: Int64?
  /// The length of the page, at most ``pageSize``.
  public var limit: Int?
  /// Whether to list the dismissed conflicts as well. They are left out by default.
  public var dismissed: Bool?

  /// The longest page: the node reads it at once, and values may be long.
  public static let pageSize = 1_000

  /// Creates the request.
  public init(
    table: String? = nil, zone: String? = nil, device: String? = nil, since: Date? = nil, after: Int64? = nil,
    limit: Int? = nil, dismissed: Bool? = nil
  ) {
    (self.table, self.zone, self.device, self.since) = (table, zone, device, since)
    (self.after, self.limit, self.dismissed) = (after, limit, dismissed)
  }
}

/// Takes conflicts off this machine's list, because nobody wants the values that lost. `mesh conflicts dismiss`.
///
/// The node still keeps the values, and ``RestoreRequest`` restores them.
public struct DismissRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<DismissReport>.post("/v1/conflicts/dismiss")

  /// The numbers of conflicts. If there is no conflict with one of them, none is dismissed.
  public var conflicts: [Int64]?
  /// Also every conflict up to this number.
  public var through: Int64?

  /// Creates a request to dismiss the conflicts with these numbers.
  public init(conflicts: [Int64]) { self.conflicts = conflicts }

  /// Creates a request to dismiss every conflict up to a number: the first one of a list, to dismiss all that it has.
  public init(through: Int64) { self.through = through }
}

/// How many conflicts a ``DismissRequest`` took off the list.
public struct DismissReport: Codable, Hashable, Sendable {
  /// The number of conflicts. With ``DismissRequest/through``, those that had been dismissed before don't count.
  public var dismissed: Int

  package init(dismissed: Int) { self.dismissed = dismissed }
}

/// A page of conflicts.
public struct ConflictsReport: Codable, Hashable, Sendable {
  /// The conflicts on this page.
  public var conflicts: [ConflictReport]
  /// How many conflicts fit the request, on this page or not.
  public var total: Int
  /// How many conflicts the file no longer keeps, whether they would fit the request or not.
  public var dropped: Int
  /// How many conflicts fit the request and are left out because somebody dismissed them on this machine.
  public var dismissed: Int
  /// The ``ConflictsRequest/after`` of the next page. It is nil on the last page.
  @OrNull public var next: Int64?

  package init(
    conflicts: [ConflictReport], total: Int, dropped: Int = 0, dismissed: Int = 0, next: Int64? = nil
  ) {
    (self.conflicts, self.total, self.dropped, self.dismissed) = (conflicts, total, dropped, dismissed)
    self.next = next
  }
}

/// One column of one record that two devices wrote without having seen each other's value.
public struct ConflictReport: Codable, Hashable, Sendable {
  /// The number of the conflict, with which ``RestoreRequest`` restores the lost value.
  public var id: Int64
  /// The id of the zone.
  public var zone: String
  /// The table of the record.
  public var table: String
  /// The key of the record.
  public var key: ReportedValue
  /// The column. It is nil if a delete of the record lost.
  @OrNull public var column: String?
  /// The value that the record has now.
  public var winner: Side
  /// The write that beat the value. A later write may have replaced it since. It is nil if it is not known.
  @OrNull public var lostTo: Write?
  /// The value that lost.
  public var loser: Side
  /// When this node found the conflict.
  public var found: Date
  /// Whether somebody dismissed it on this machine, or restored its lost value.
  public var dismissed: Bool

  /// One of the two values of a conflict, with the device that wrote it.
  public struct Side: Codable, Hashable, Sendable {
    /// The value.
    public var value: ReportedValue
    /// Whether this side is the delete of the record. Its value is null then.
    public var deleted: Bool
    /// Whether there is no record on this side, because the change set that created it was reverted. The device and the
    /// time are those of the lost value then.
    public var reverted: Bool
    /// The id of the device that wrote it.
    public var device: String
    /// The name of that device, if it is known.
    @OrNull public var deviceName: String?
    /// When it was written, by the writer's clock. It is nil if that is not known.
    @OrNull public var written: Date?
    /// Whether nobody edited it: it was there before the table was tracked, or a migration filled it in. `written` is
    /// then the time when the node noted it.
    public var imported: Bool
    /// Whether the node has the bytes of a BLOB that lost, so that it can be restored there. It is nil for any other value.
    public var bytesHere: Bool?

    package init(
      value: ReportedValue, deleted: Bool = false, reverted: Bool = false, device: String, deviceName: String?,
      written: Date?,
      imported: Bool = false, bytesHere: Bool? = nil
    ) {
      (self.value, self.deleted, self.reverted, self.device) = (value, deleted, reverted, device)
      (self.deviceName, self.written, self.imported) = (deviceName, written, imported)
      self.bytesHere = bytesHere
    }
  }

  /// A write of a device.
  public struct Write: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var deviceName: String?
    /// When it was written, by the writer's clock. It is nil if that is not known.
    @OrNull public var written: Date?

    package init(device: String, deviceName: String?, written: Date?) {
      (self.device, self.deviceName, self.written) = (device, deviceName, written)
    }
  }

  package init(
    id: Int64, zone: String, table: String, key: ReportedValue, column: String?, winner: Side, lostTo: Write? = nil,
    loser: Side, found: Date, dismissed: Bool = false
  ) {
    (self.id, self.zone, self.table, self.key) = (id, zone, table, key)
    (self.column, self.winner, self.lostTo, self.loser, self.found) = (column, winner, lostTo, loser, found)
    self.dismissed = dismissed
  }
}
