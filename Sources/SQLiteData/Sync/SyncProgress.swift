import MeshControl

/// The progress of a database's synchronization.
public struct SyncProgress: Hashable, Sendable {
  /// Another device, connected or only known.
  public struct Device: Hashable, Sendable {
    /// The id of the device, or nil for an address at which no device has answered yet.
    public var id: String?
    /// The name that the device gave itself, if it is known.
    public var name: String?
    /// The address of the device, if it is known.
    public var address: String?
    /// Whether a session with the device is open.
    public var isConnected: Bool
    /// The number of change sets that the device is missing. A transaction is one or a few change sets.
    public var toSend: Int
    /// The number of change sets that the device has and this one is missing.
    public var toFetch: Int
    /// The reason that the last connection ended or failed, if there was a problem.
    public var problem: String?
  }

  /// The other devices.
  public var devices: [Device] = []
  /// The number of rows that are captured and not yet in a change set. A running node takes them within milliseconds.
  public var pendingRows = 0
  /// The number of records that are merged and not shown in their tables.
  public var heldRecords = 0
  /// The number of long BLOBs that are being downloaded, and the number of their missing bytes.
  public var blobs = Blobs(count: 0, bytes: 0)
  /// Problems that a person should look into, each with its remedy. It is nearly always empty.
  public var problems: [String] = []

  /// Long BLOBs that are being downloaded.
  public struct Blobs: Hashable, Sendable {
    /// The number of BLOBs.
    public var count: Int
    /// The number of their missing bytes.
    public var bytes: Int
  }

  /// The number of connected devices.
  public var connectedDevices: Int { devices.count { $0.isConnected } }
  /// Whether a connected device is missing changes, or captured rows wait for their change set.
  public var isSending: Bool { pendingRows > 0 || devices.contains { $0.isConnected && $0.toSend > 0 } }
  /// Whether this device is missing data that a connected device has.
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
