public import Foundation
import MeshControl

/// A record that is merged, but that its table doesn't show as it was merged, or that isn't sent.
public struct HeldRecord: Hashable, Sendable {
  /// The table of the record.
  public let recordType: String
  /// The text of the record's primary key.
  public let recordPrimaryKey: String
  /// The reason, as in ``SyncMetadata/heldReason``: `"constraint"` if the table refuses the record, or
  /// `"missing-parent"` if the row that it refers to is missing.
  public let reason: String
  /// SQLite's message, if the table refuses the record.
  public let message: String?
  /// The time since which the record is held.
  public let since: Date?
  /// The remedy, for a person.
  public let wayOut: String
}

extension SyncEngine {
  /// Returns the records that are held on this device, at most as many as `mesh held` lists.
  /// ``SyncProgress/heldRecords`` counts all.
  public func heldRecords() async throws -> [HeldRecord] {
    try await perform(HeldRequest()).records.map { record in
      HeldRecord(
        recordType: record.table, recordPrimaryKey: record.key.keyText, reason: record.hold.reason,
        message: record.hold.message, since: record.hold.since, wayOut: record.hold.wayOut)
    }
  }
}
