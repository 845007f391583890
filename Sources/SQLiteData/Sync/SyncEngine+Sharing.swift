import Foundation
import IssueReporting
import MeshControl
import MeshCore
public import SQLiteDataQueries

/// Sharing records with other accounts.
extension SyncEngine {
  /// Shares a record, and the records that refer to it, with other accounts. If the record is already shared, this
  /// changes its share.
  ///
  /// ```swift
  /// let sharedRecord = try await syncEngine.share(record: remindersList) { share in
  ///   share[Share.SystemFieldKey.title] = "Join '\(remindersList.title)'!"
  /// }
  /// ```
  ///
  /// The owner gets a new invite with each call. It admits one account, which may then read and write. If the share's
  /// ``Share/publicPermission`` isn't ``Share/ParticipantPermission/none``, the invite admits any number of accounts with
  /// that permission. ``inviteParticipant(to:permission:account:expiresAfter:)`` creates other invites.
  ///
  /// - Parameters:
  ///   - record: A row of a table without foreign keys.
  ///   - configure: Changes the title and the permissions.
  /// - Throws: ``SyncError``: ``SyncError/Code/notShareable`` if the row doesn't exist or its table can't have shares,
  ///   ``SyncError/Code/notOwner`` if `configure` changes another account's share, or ``SyncError/Code/notRunning``.
  @discardableResult
  public func share<T: PrimaryKeyedTable>(
    record: T, configure: @Sendable (inout Share) -> Void = { _ in }
  ) async throws -> SharedRecord where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
    let (report, edited) = try await editor.share(
      T.tableName, record.primaryKey.rawIdentifier, record.keyLiteral, report(of: record), configure)
    // Only the owner invites.
    guard report.role == .owner else { return SharedRecord(share: edited, link: nil) }
    let invite = try await editor.invite(to: report, edited.publicPermission)
    return SharedRecord(share: try await share(report.id), link: invite)
  }

  /// Stops sharing a record. It stays in this account, and the other accounts lose it. If the record isn't shared, this
  /// reports an issue.
  ///
  /// - Parameter record: A row of this account that is the root of a share.
  /// - Throws: ``SyncError``: ``SyncError/Code/notOwner`` if the share belongs to another account.
  public func unshare<T: PrimaryKeyedTable>(record: T) async throws
  where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
    guard let report = try await report(of: record) else {
      reportIssue(
        "The row \(record.primaryKey.rawIdentifier) of \(T.tableName) isn't shared, so there is nothing to stop.")
      return
    }
    guard report.role == .owner else {
      throw SyncError(
        .notOwner,
        "The share \(report.title) belongs to another account, so this one can't stop it. Leave it: "
          + "try await syncEngine.leaveShare(record: row)")
    }
    _ = try await perform(ShareChangeRequest(.stop, share: report.id))
    // The metadata show the change from now on.
    _ = try await shares()
  }

  /// Leaves another account's share, as deleting its root row does. The devices of this account lose the rows.
  ///
  /// - Parameters:
  ///   - record: The root of the share.
  ///   - keepingRows: Whether the rows stay, as rows of this account.
  ///   - force: Whether to leave without the error ``SyncError/Code/undelivered``. The others lose those BLOBs.
  public func leaveShare<T: PrimaryKeyedTable>(record: T, keepingRows: Bool = false, force: Bool = false) async throws
  where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
    guard let report = try await report(of: record) else {
      reportIssue(
        "The row \(record.primaryKey.rawIdentifier) of \(T.tableName) isn't shared, so there is nothing to leave.")
      return
    }
    _ = try await perform(ShareChangeRequest(.leave, share: report.id, keepCopy: keepingRows, force: force))
    _ = try await shares()
  }

  /// Creates an invite with which another account joins a share of this account.
  ///
  /// - Parameters:
  ///   - share: The share.
  ///   - permission: The permission of the account.
  ///   - account: The id of the only account that can use the invite, or nil for any account.
  ///   - duration: The time for which the invite is valid, or nil for no limit.
  /// - Returns: The text of the invite, which admits one account. It is a secret.
  public func inviteParticipant(
    to share: Share, permission: Share.ParticipantPermission = .readWrite, account: String? = nil,
    expiresAfter duration: Duration? = nil
  ) async throws -> String {
    guard let permission = permission.ofNode else {
      throw SyncError(.permission, "An invite grants the permission .readOnly or .readWrite, and not .none.")
    }
    let report = try await perform(
      ShareInviteRequest(share: share.id, permission: permission, expires: duration, account: account))
    return report.link
  }

  /// Returns the shares in which this account is a member, including its own.
  public func shares() async throws -> [Share] {
    try await activity.asking { try await book.update(from: $0).shares }
  }

  // MARK: Joining

  /// Asks a member about the share of an invite, before a person accepts it.
  ///
  /// - Parameter invite: The ``SharedRecord/link`` of another account.
  public func shareMetadata(for invite: String) async throws -> Share.Metadata {
    let report = try await perform(ShareJoinRequest(link: invite, claims: false))
    return Share.Metadata(
      link: invite, shareID: report.share, title: report.title, ownerID: report.owner, rootRecordType: report.table,
      rootRecordPrimaryKey: report.key?.keyText,
      participantPermission: report.permission.map { Share.ParticipantPermission($0) },
      isAccepted: report.state == .joined)
  }

  /// Joins a share, and returns when its rows are in the tables.
  ///
  /// - Parameters:
  ///   - metadata: The result of ``shareMetadata(for:)``.
  ///   - timeout: The longest wait for the device that admits this account, and for the rows.
  /// - Returns: The share.
  /// - Throws: ``SyncError``: ``SyncError/Code/notInTime``, or the node's reason that the invite doesn't work.
  @discardableResult
  public func acceptShare(metadata: Share.Metadata, timeout: Duration = .seconds(60)) async throws -> Share {
    try await acceptShare(metadata.link, timeout: timeout)
  }

  /// Joins a share, and returns when its rows are in the tables.
  ///
  /// - Parameters:
  ///   - invite: The ``SharedRecord/link`` of another account.
  ///   - timeout: The longest wait for the device that admits this account, and for the rows.
  /// - Returns: The share.
  /// - Throws: ``SyncError``: ``SyncError/Code/notInTime``, or the node's reason that the invite doesn't work.
  @discardableResult
  public func acceptShare(_ invite: String, timeout: Duration = .seconds(60)) async throws -> Share {
    let deadline = ContinuousClock.now + timeout
    var report = try await perform(ShareJoinRequest(link: invite, claims: true))
    while report.state != .joined {
      guard ContinuousClock.now < deadline else {
        throw SyncError(
          .notInTime,
          "The share \(report.title) can't be joined yet: \(report.reason ?? "no device admits this account"). Try again later."
        )
      }
      try await Task.sleep(for: Self.joinLook)
      report = try await perform(ShareJoinRequest(link: invite, claims: true))
    }
    return try await activity.counting(.fetch) {
      while try await !perform(WaitRequest(timeout: .zero, here: true)).complete {
        guard ContinuousClock.now < deadline else {
          throw SyncError(
            .notInTime,
            "This account has joined the share \(report.title), and not all rows have come within \(timeout / .seconds(1)) "
              + "seconds. The engine goes on with it.")
        }
        try await Task.sleep(for: Self.look)
      }
      return try await share(report.share)
    }
  }

  /// The time between two checks whether this account is admitted.
  private static let joinLook = Duration.milliseconds(500)

  private var editor: ShareEditor { ShareEditor(node: activity) }

  private func share(_ id: String) async throws -> Share {
    guard let share = try await shares().first(where: { $0.id == id }) else {
      throw SyncError(.shareEnded, "The share \(id) has ended for this account.")
    }
    return share
  }

  /// Returns the share whose root is a row.
  private func report<T: PrimaryKeyedTable>(of record: T) async throws -> ShareReport?
  where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
    let literal = record.keyLiteral
    return try await perform(SharesRequest()).shares.first {
      $0.role != .ended && !$0.stopped && $0.table.folded == T.tableName.folded && $0.key.literal == literal
    }
  }
}

extension PrimaryKeyedTable {
  /// The primary key as an SQL literal. A node accepts an ambiguous key in this form.
  var keyLiteral: String { _keyFragments.flatMap(\.bindings).map(\.debugDescription).joined() }
}

extension ReportedValue {
  /// The value as an SQL literal.
  fileprivate var literal: String {
    if case .text(let text) = self { return QueryBinding.text(text).debugDescription }
    return description
  }
}
