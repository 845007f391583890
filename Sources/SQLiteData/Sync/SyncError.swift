import MeshControl

/// The reason that a sync engine can't do something.
///
/// ```swift
/// do {
///   try await syncEngine.syncChanges()
/// } catch let error as SyncError where error.code == .noDevice {
///   // No other device is connected.
/// }
/// ```
public struct SyncError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error.
  ///
  /// If the node refuses something for a reason without a constant here, the code is the node's own, such as
  /// `"share.title"`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The engine isn't running: it wasn't started, or it was stopped.
    public static let notRunning = Code(rawValue: "engine.notRunning")
    /// The database is in memory, or belongs to another node.
    public static let database = Code(rawValue: "engine.database")
    /// Tables can't be synchronized. ``SyncError/reasons`` lists every reason of every table.
    public static let schema = Code(rawValue: "database.schemaRefused")
    /// No other device is connected.
    public static let noDevice = Code(rawValue: "peers.none")
    /// The action wasn't done within the given time.
    public static let notInTime = Code(rawValue: "engine.notInTime")
    /// A row can't be sent: a value is too long, or the key is no valid text.
    public static let tooLong = Code(rawValue: "rows.tooLong")
    /// Rows were written while no writes were allowed.
    public static let rowsWritten = Code(rawValue: "engine.rowsWritten")
    /// The record can't be shared: it doesn't exist, or its table is private, has foreign keys or isn't synchronized.
    public static let notShareable = Code(rawValue: "share.refused")
    /// Only the owner of the share can do that.
    public static let notOwner = Code(rawValue: "share.notOwner")
    /// A statement wrote to a row of a share that this account may only read.
    public static let writePermission = Code(rawValue: "row.readOnly")
    /// A statement gave the root of a share another primary key.
    public static let invalidRecordName = Code(rawValue: "row.root")
    /// BLOBs that this account wrote have not arrived at the share's owner.
    public static let undelivered = Code(rawValue: "share.undelivered")
    /// The share has ended for this account.
    public static let shareEnded = Code(rawValue: "share.ended")
    /// A participant can't have this permission.
    public static let permission = Code(rawValue: "share.permission")
    /// The process that runs the node has another version of mesh, and the two don't understand each other. The message
    /// says which one to update.
    public static let version = Code(rawValue: "daemon.version")
    /// Another process runs the node, and this needs the node of the app itself.
    public static let otherNode = Code(rawValue: "engine.otherNode")
    /// The account has other devices or shares, so this device can't change to another account.
    public static let accountInUse = Code(rawValue: "account.inUse")
  }

  /// The kind of the error.
  public let code: Code
  /// A text for people: what happened, to which object, and what to do.
  public let message: String
  /// Every problem, if there may be several. Otherwise it is empty.
  public let reasons: [String]

  init(_ code: Code, _ message: String, reasons: [String] = []) {
    (self.code, self.message, self.reasons) = (code, message, reasons)
  }

  /// The message.
  public var description: String { message }

  static let notRunning = SyncError(
    .notRunning, "The sync engine isn't running. Start it: try await syncEngine.start()")
}

extension SyncError {
  /// Returns an error of a node as an error of the engine, with the same text. Other errors are returned unchanged.
  static func of(_ error: any Error) -> any Error {
    guard let refusal = (error as? any Refusing)?.refusal else { return error }
    return SyncError(Code(rawValue: refusal.code), refusal.message, reasons: refusal.reasons)
  }

  /// Runs `body`, and throws errors of a node as `SyncError`.
  static func translating<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch {
      throw of(error)
    }
  }
}
