public import Foundation
import MeshControl

/// Told what happens to the rows of a sync engine. Each method has a default implementation, so implement those that you need.
///
/// ```swift
/// final class AppDelegate: SyncEngineDelegate {
///   func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {
///     print("\(share.title ?? "A list") is no longer shared with you.")
///   }
/// }
/// ```
///
/// The engine calls the methods one after another, as it finds out: within half a second. It finds out nothing while it is
/// stopped, and tells of shares that came or ended meanwhile after the next start.
public protocol SyncEngineDelegate: AnyObject, Sendable {
  /// The device has another account than before, or the account revoked it. The rows stay: delete them if the app needs that.
  func syncEngine(_ syncEngine: SyncEngine, accountChanged changeType: SyncEngine.AccountChange) async

  /// The account has become a member of a share: here, or on another device.
  func syncEngine(_ syncEngine: SyncEngine, shareReceived share: Share) async

  /// A share has another title, other participants or other permissions than before.
  func syncEngine(_ syncEngine: SyncEngine, shareChanged share: Share) async

  /// A share has ended for this account.
  func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async

  /// Asked before the rows of a share that others have ended are deleted on this device. If it returns false, they stay as rows of
  /// this account.
  ///
  /// It is not asked if this account leaves the share, nor if another process runs the node: there, `keep-copies` in
  /// `config.toml` decides. Return soon, because the node waits.
  func syncEngine(_ syncEngine: SyncEngine, shouldDeleteRowsOf share: Share) -> Bool

  /// Two devices wrote to one value without having seen each other's write. The value that lost is kept.
  func syncEngine(_ syncEngine: SyncEngine, foundConflict conflict: SyncConflict) async

  /// The records that are merged and not in their tables have changed.
  ///
  /// - Parameter counts: How many there are, by reason. ``SyncMetadata/heldReason`` has the reason of a row that is in its table.
  func syncEngine(_ syncEngine: SyncEngine, heldRecordsChanged counts: [String: Int]) async

  /// The engine has stopped by itself, because no node can work for this database.
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
    /// The device has an account, and had none before. The value is its id.
    case signIn(currentUser: String)
    /// The account revoked this device. The value is its id.
    case signOut(previousUser: String)
    /// The device has joined another account.
    case switchAccounts(previousUser: String, currentUser: String)
  }
}

/// A value that lost against another, whose author had not seen it.
public struct SyncConflict: Hashable, Identifiable, Sendable {
  /// The number of the conflict on this device: `mesh conflicts` lists it, and `mesh restore` takes it.
  public let id: Int64
  /// The table of the row.
  public let recordType: String
  /// The text of the row's primary key.
  public let recordPrimaryKey: String
  /// The column. It is nil if the row was deleted by one of the two.
  public let column: String?
  /// The value that the row has, as a text.
  public let value: String
  /// The value that lost, as a text.
  public let lostValue: String
  /// The name of the device that wrote the lost value, if it is known.
  public let lostBy: String?
  /// When this device found the conflict.
  public let date: Date

  init(_ report: ConflictReport) {
    (id, recordType, recordPrimaryKey) = (report.id, report.table, report.key.keyText)
    (column, date, lostBy) = (report.column, report.found, report.loser.deviceName)
    (value, lostValue) = (Self.text(report.winner), Self.text(report.loser))
  }

  private static func text(_ side: ConflictReport.Side) -> String { side.deleted ? "deleted" : side.value.keyText }
}
