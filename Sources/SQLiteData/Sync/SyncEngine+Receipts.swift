public import Foundation
import MeshControl

/// A write of this device that a share rejected, for example because its owner had made this account read-only.
public struct ShareReceipt: Hashable, Sendable {
  /// The reason that a share rejected a write.
  public enum Reason: Hashable, Sendable {
    /// The account was not permitted to write when this device was about to send the write.
    case notPermitted
    /// The account lost its permission, or the share ended, before the write arrived.
    case cut
  }

  /// The id of the share, as in ``Share/id``.
  public let shareID: String
  /// The table of the row.
  public let recordType: String
  /// The text of the row's primary key.
  public let recordPrimaryKey: String
  /// The rejected values as texts, by column, or nil if the write deleted the row.
  public let values: [String: String]?
  /// The reason.
  public let reason: Reason
  /// The time at which this device noted that the share rejected the write.
  public let date: Date
}

/// Writes of this device that shares rejected.
extension SyncEngine {
  /// Returns the writes of this device that shares rejected. Those of a share come together, the newest first.
  ///
  /// The rows no longer show these writes. This device keeps them until you restore or discard them.
  public func receipts() async throws -> [ShareReceipt] {
    var receipts: [ShareReceipt] = []
    for share in try await perform(StatusRequest()).receipts.keys.sorted() {
      receipts += try await perform(ShareReceiptRequest(share: share)).receipts.map { ShareReceipt($0, of: share) }
    }
    return receipts
  }

  /// Writes the rejected writes of a share to the tables again, as edits of now.
  ///
  /// If the database has rows of its own in the place of a write, such as a kept copy of the share, the write stays in
  /// ``receipts()``. So does an edit of a row that was deleted meanwhile, or moved out of the share.
  ///
  /// - Parameter share: The ``ShareReceipt/shareID``.
  /// - Returns: The number of restored writes.
  /// - Throws: ``SyncError`` if the account may not write to the share.
  @discardableResult
  public func restoreReceipts(of share: String) async throws -> Int {
    try await perform(ShareReceiptRequest(share: share, restore: true)).restored
  }

  /// Forgets the rejected writes of a share. Their values are nowhere else.
  ///
  /// - Parameter share: The ``ShareReceipt/shareID``.
  /// - Returns: The number of forgotten writes.
  @discardableResult
  public func discardReceipts(of share: String) async throws -> Int {
    try await perform(ShareReceiptRequest(share: share, discard: true)).discarded
  }
}

extension ShareReceipt {
  fileprivate init(_ receipt: ShareReceiptReport.Receipt, of share: String) {
    (shareID, recordType, recordPrimaryKey) = (share, receipt.table, receipt.key.keyText)
    values = receipt.values?.mapValues(\.keyText)
    reason =
      switch receipt.reason {
      case .notPermitted: .notPermitted
      case .cut: .cut
      }
    date = receipt.noted
  }
}
