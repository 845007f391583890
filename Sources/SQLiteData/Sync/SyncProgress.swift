import MeshControl

/// How far a database is synchronized.
public struct SyncProgress: Hashable, Sendable {
  /// Another device, connected or only known.
  public struct Device: Hashable, Sendable {
    /// The id of the device. It is nil for an address where no device has answered yet.
    public var id: String?
    /// The device's name for itself, if it is known.
    public var name: String?
    /// The address of the device, if it is known.
    public var address: String?
    /// Whether a session with the device is open.
    public var isConnected: Bool
    /// How many change sets the device is missing. A transaction is one or a few change sets.
    public var toSend: Int
    /// How many change sets the device has and this one is missing.
    public var toFetch: Int
    /// Why the last connection ended or was not made, if there was a problem.
    public var problem: String?
  }

  /// The other devices.
  public var devices: [Device] = []
  /// How many rows are captured and not yet in a change set. A node takes them up within milliseconds.
  public var pendingRows = 0
  /// How many records are merged and not shown in their tables.
  public var heldRecords = 0
  /// How many long BLOBs are being downloaded, and how many bytes of theirs are missing.
  public var blobs = Blobs(count: 0, bytes: 0)
  /// Problems that somebody should look into, each with its way out. It is nearly always empty.
  public var problems: [String] = []

  /// Long BLOBs that are being downloaded.
  public struct Blobs: Hashable, Sendable {
    /// How many there are.
    public var count: Int
    /// How many of their bytes are missing.
    public var bytes: Int
  }

  /// How many devices are connected.
  public var connectedDevices: Int { devices.count { $0.isConnected } }
  /// Whether a connected device is missing something, or captured rows wait for their change set.
  public var isSending: Bool { pendingRows > 0 || devices.contains { $0.isConnected && $0.toSend > 0 } }
  /// Whether this device is missing something that a connected device has.
  public var isFetching: Bool { blobs.count > 0 || devices.contains { $0.isConnected && $0.toFetch > 0 } }

  init() {}

  init(_ report: StatusReport) {
    devices = report.peers.map {
      Device(
        id: $0.device, name: $0.name, address: $0.address, isConnected: $0.connected, toSend: $0.behind.there,
        toFetch: $0.behind.here, problem: $0.lastError)
    }
    pendingRows = report.pending
    heldRecords = report.held.values.reduce(0, +)
    blobs = Blobs(count: report.fetching.assets, bytes: max(0, report.fetching.size - report.fetching.here))
    problems = report.alarms
  }
}
