/// A request whose answer may take until a timeout.
package protocol TimedRequest: ControlRequest {
  /// How long the node works before it answers that it isn't done.
  var timeout: Duration { get }
  /// The request with another timeout.
  func lasting(_ timeout: Duration) -> Self
}

extension VerifyRequest: TimedRequest {
  package func lasting(_ timeout: Duration) -> Self { Self(timeout: timeout) }
}

extension WaitRequest: TimedRequest {
  package func lasting(_ timeout: Duration) -> Self { Self(timeout: timeout, here: here) }
}

/// Waits until every connected device has what this node has, then compares digests. `mesh verify`.
///
/// The node refuses with ``ExitStatus/noMember`` if no other device is connected, and none connects in time.
public struct VerifyRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<VerifyReport>.post("/v1/verify")

  /// The timeout in seconds, as the JSON has it.
  package var timeoutSeconds: Double?

  /// Creates the request.
  ///
  /// - Parameter timeout: How long the node waits, at most a year. Nil stands for one minute.
  public init(timeout: Duration? = nil) { timeoutSeconds = timeout?.inSeconds }

  /// How long the node waits.
  public var timeout: Duration { timeoutSeconds.map { .seconds(clamped: $0) } ?? .controlTimeout }

  /// The timeout and 30 seconds.
  public var timeLimit: Duration { timeout + .controlMargin }
}

/// How this node's rows compare with those of other devices.
public struct VerifyReport: Codable, Hashable, Sendable {
  /// Whether every comparison is equal.
  public var equal: Bool
  /// One comparison for each zone and connected device.
  public var comparisons: [Comparison]
  /// Which program has the write lock, so that nothing can be said. It is nil if none has.
  @OrNull public var locked: String?
  /// Records that are merged here as everywhere, and whose rows are older here because their table refuses the merged
  /// version; 100 at most.
  public var older: [Older]
  /// The number of such records.
  public var olderCount: Int
  /// The number of records that are held here, by reason. See ``HeldReport/counts``.
  public var held: [String: Int]

  /// A record whose row is older than what is merged.
  public struct Older: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue

    package init(zone: String, table: String, key: ReportedValue) {
      (self.zone, self.table, self.key) = (zone, table, key)
    }
  }

  /// The comparison of one zone with one device.
  public struct Comparison: Codable, Hashable, Sendable {
    /// The result of a comparison.
    public enum Outcome: String, Codable, Sendable {
      /// The vectors and the digests are equal.
      case equal
      /// The vectors are equal and the digests are not. This is an alarm.
      case unequal
      /// The vectors were not equal in time, or the device did not answer.
      case notInTime
      /// This node has rows that are not sent yet, or can't be sent.
      case unsentHere
      /// The other device has rows that are not sent yet, or can't be sent.
      case unsentThere
    }

    /// The id of the zone.
    public var zone: String
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var name: String?
    /// Whether the digests are equal, or why they can't be compared.
    public var outcome: Outcome
    /// This node's digest, in hexadecimal.
    public var here: String
    /// The device's digest. It is nil if the device gave none.
    @OrNull public var there: String?

    package init(zone: String, device: String, name: String?, outcome: Outcome, here: String, there: String?) {
      (self.zone, self.device, self.name) = (zone, device, name)
      (self.outcome, self.here, self.there) = (outcome, here, there)
    }
  }

  package init(
    comparisons: [Comparison], locked: String? = nil, older: [Older] = [], olderCount: Int = 0,
    held: [String: Int] = [:]
  ) {
    // Answers of members that came meanwhile may wait for the lock as well.
    self.comparisons = comparisons.map { comparison in
      var comparison = comparison
      if locked != nil, comparison.outcome == .equal { comparison.outcome = .notInTime }
      return comparison
    }
    self.equal = self.comparisons.allSatisfy { $0.outcome == .equal }
    (self.locked, self.older, self.olderCount, self.held) = (locked, older, olderCount, held)
  }
}

/// Waits until nothing is pending and every connected device has everything. `mesh wait`.
///
/// The node refuses with ``ExitStatus/noMember`` if no other device is connected, and none connects in time.
public struct WaitRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<WaitReport>.post("/v1/wait")

  /// The timeout in seconds, as the JSON has it.
  package var timeoutSeconds: Double?
  private var hereOnly: Bool?

  /// Creates the request.
  ///
  /// - Parameters:
  ///   - timeout: How long the node waits, at most a year. Nil stands for one minute.
  ///   - here: Whether to wait only until what connected devices have sent is in this machine's tables. The node then
  ///     needs no other device.
  public init(timeout: Duration? = nil, here: Bool = false) {
    (timeoutSeconds, hereOnly) = (timeout?.inSeconds, here ? true : nil)
  }

  /// How long the node waits.
  public var timeout: Duration { timeoutSeconds.map { .seconds(clamped: $0) } ?? .controlTimeout }

  /// Whether to wait for this machine's tables only.
  public var here: Bool { hereOnly ?? false }

  private enum CodingKeys: String, CodingKey {
    case timeoutSeconds
    case hereOnly = "here"
  }

  /// The timeout and 30 seconds.
  public var timeLimit: Duration { timeout + .controlMargin }
}

extension Duration {
  /// The default timeout of `verify` and `wait`. It is long enough for a backlog, and short enough for a person who
  /// waits.
  package static let controlTimeout = Duration.seconds(60)
}

/// The changes that this node and the connected devices still have to send each other.
public struct WaitReport: Codable, Hashable, Sendable {
  /// Whether every connected device has everything.
  public var complete: Bool
  /// Whether the node still captures, merges or shows rows, as after a change of the schema.
  public var working: Bool
  /// The number of rows that are captured and not yet flushed.
  public var pending: Int
  /// The number of rows that can't be sent: a value is too long, or the key is no valid text.
  public var tooLong: Int
  /// Devices that have not acknowledged everything, that have something to send, or that download long BLOBs.
  public var missing: [Missing]
  /// The long BLOBs that this node itself is missing.
  public var assets: LackingAssets
  /// Devices that have everything but long BLOBs that they don't download.
  public var without: [Missing]
  /// Devices that are not connected, and that were missing change sets when they last were. The node waits for none of
  /// them.
  public var absent: [Absent]
  /// Which program has the write lock, so that something may wait. It is nil if none has.
  @OrNull public var locked: String?
  /// Why this machine's clock is not believed, so that pending rows are not sent. It is nil if it is believed.
  @OrNull public var clock: String?
  /// The number of records that are held here, by reason. See ``HeldReport/counts``.
  public var held: [String: Int]

  /// The tables whose writes this node doesn't capture, because their keys are not those of other devices, or because they
  /// were renamed and aren't tracked under their new names.
  public var uncaptured: [String]
  /// The number of rows that vanished from a table unnoticed, by table: SQLite calls no trigger for a row that a program
  /// replaces by its `rowid`.
  public var vanished: [String: Int]

  /// The number of writes made here that are not in the share they were made for, by the share's id. See
  /// ``StatusReport/receipts``.
  public var receipts: [String: Int]

  /// A device that is not connected.
  public struct Absent: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var name: String?
    /// The number of change sets that this node has and the device is missing.
    public var changeSets: Int

    package init(device: String, name: String?, changeSets: Int) {
      (self.device, self.name, self.changeSets) = (device, name, changeSets)
    }
  }

  /// The changes that one device is missing in one zone.
  public struct Missing: Codable, Hashable, Sendable {
    /// The id of the zone.
    public var zone: String
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var name: String?
    /// How far each side is behind the other.
    public var behind: PeerReport.Behind
    /// The long BLOBs that it is missing. It is nil if the device has not reported them.
    @OrNull public var assets: LackingAssets?

    package init(zone: String, device: String, name: String?, behind: PeerReport.Behind, assets: LackingAssets?) {
      (self.zone, self.device, self.name, self.behind, self.assets) = (zone, device, name, behind, assets)
    }

    var isComplete: Bool { behind.here == 0 && behind.there == 0 && assets?.coming.assets == 0 }
  }

  /// - Parameter members: One for each member and zone in common.
  package init(
    working: Bool = false, pending: Int, tooLong: Int, members: [Missing], assets: LackingAssets = LackingAssets(),
    locked: String? = nil, clock: String? = nil, held: [String: Int] = [:], uncaptured: [String] = [],
    vanished: [String: Int] = [:], receipts: [String: Int] = [:], absent: [Absent] = []
  ) {
    missing = members.filter { !$0.isComplete }
    without = members.filter { $0.isComplete && ($0.assets?.absent.assets ?? 0) > 0 }
    // Change sets that came meanwhile may wait for the lock as well.
    complete =
      locked == nil && !working && pending == 0 && tooLong == 0 && missing.isEmpty && assets.coming.assets == 0
      && uncaptured.isEmpty && vanished.isEmpty
    (self.working, self.pending, self.tooLong, self.assets) = (working, pending, tooLong, assets)
    (self.locked, self.clock, self.held) = (locked, clock, held)
    (self.uncaptured, self.vanished, self.receipts, self.absent) = (uncaptured, vanished, receipts, absent)
  }
}
