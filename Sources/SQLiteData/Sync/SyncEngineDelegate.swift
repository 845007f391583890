public import Foundation
import MeshControl

/// An object that is told about events of a sync engine's rows. Each method has a default implementation, so implement
/// only those that you need.
///
/// ```swift
/// final class AppDelegate: SyncEngineDelegate {
///   func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {
///     print("\(share.title ?? "A list") is no longer shared with you.")
///   }
/// }
/// ```
///
/// The engine calls the methods one after another, within half a second after an event. A stopped engine notices
/// nothing. After the next start, it reports the shares that came or ended in the meantime.
public protocol SyncEngineDelegate: AnyObject, Sendable {
  /// Reports that the device's account has changed, or that the account revoked the device. The rows stay: delete them if
  /// the app needs that.
  func syncEngine(_ syncEngine: SyncEngine, accountChanged changeType: SyncEngine.AccountChange) async

  /// Reports that the account has become a member of a share, on this device or on another.
  func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async

  /// Reports that the title, the participants or the permissions of a share have changed.
  func syncEngine(_ syncEngine: SyncEngine, shareChanged share: Share) async

  /// Reports that a share has ended for this account.
  func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async

  /// Returns whether the rows of a share that others have ended are deleted on this device. If it returns false, they
  /// stay as rows of this account.
  ///
  /// The engine doesn't call it if this account leaves the share. If another process runs the node, `keep-copies` in
  /// `config.toml` decides instead. Return soon, because the node waits.
  func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool

  /// Reports that two devices wrote one value without having seen each other's write. The lost value is kept.
  func syncEngine(_ syncEngine: SyncEngine, foundConflict conflict: SyncConflict) async

  /// Reports that the records that are merged and not in their tables have changed.
  ///
  /// - Parameter counts: The number of these records, by reason. ``SyncMetadata/heldReason`` has the reason for a row
  ///   that is in its table.
  func syncEngine(_ syncEngine: SyncEngine, heldRecordsChanged counts: [String: Int]) async

  /// Reports that the engine has stopped without being asked, because no node can work for this database.
  func syncEngine(_ syncEngine: SyncEngine, failedWith error: any Error) async
}

extension SyncEngineDelegate {
  public func syncEngine(_ syncEngine: SyncEngine, accountChanged changeType: SyncEngine.AccountChange) async {}
  public func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async {}
  public func syncEngine(_ syncEngine: SyncEngine, shareChanged share: Share) async {}
  public func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {}
  public func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool { true }
  public func syncEngine(_ syncEngine: SyncEngine, foundConflict conflict: SyncConflict) async {}
  public func syncEngine(_ syncEngine: SyncEngine, heldRecordsChanged counts: [String: Int]) async {}
  public func syncEngine(_ syncEngine: SyncEngine, failedWith error: any Error) async {}
}

extension SyncEngine {
  /// A change of the account.
  public enum AccountChange: Hashable, Sendable {
    /// The device has an account, and had none before. The value is the account's id.
    case signIn(currentUser: String)
    /// The account revoked this device. The value is the account's id.
    case signOut(previousUser: String)
    /// The device has joined another account.
    case switchAccounts(previousUser: String, currentUser: String)
  }
}

/// A value that lost against another one whose author had not seen it.
public struct SyncConflict: Hashable, Identifiable, Sendable {
  /// The number of the conflict on this device. `mesh conflicts` lists it, and `mesh restore` accepts it.
  public let id: Int64
  /// The table of the row.
  public let recordType: String
  /// The text of the row's primary key.
  public let recordPrimaryKey: String
  /// The column, or nil if one of the two deleted the row.
  public let column: String?
  /// The value of the row, as a text.
  public let value: String
  /// The lost value, as a text.
  public let lostValue: String
  /// The name of the device that wrote the lost value, or nil if it isn't known.
  public let lostBy: String?
  /// The time at which this device found the conflict.
  public let date: Date

  init(_ report: ConflictReport) {
    (id, recordType, recordPrimaryKey) = (report.id, report.table, report.key.keyText)
    (column, date, lostBy) = (report.column, report.found, report.loser.deviceName)
    (value, lostValue) = (Self.text(report.winner), Self.text(report.loser))
  }

  private static func text(_ side: ConflictReport.Side) -> String { side.deleted ? "deleted" : side.value.keyText }
}
