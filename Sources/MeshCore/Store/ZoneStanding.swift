/// A device's role in a zone, according to the zone's control log. A store trusts it and keeps it as a cache. The
/// standing decides which rows belong to the zone, which of two records with one key is shown, and what programs may
/// write.
package struct ZoneStanding: Hashable, Sendable {
  /// The part that this device has in a zone. The numbers are those in the database.
  package enum Role: Int64, Sendable {
    /// The account's private zone, for all records that belong to no share. It takes precedence if two zones claim one
    /// row.
    case privateZone = 0
    /// A share that this account made.
    case owned = 1
    /// A share of another account, to which this account may write.
    case readWrite = 2
    /// A share of another account that this account may only read.
    case readOnly = 3
    /// A share that this account is no longer a member of. Its rows take no edits, and are removed.
    case ended = 4
  }

  /// The zone that the standing describes.
  package var zone: ZoneID
  /// The device's part in the zone.
  package var role: Role
  /// The record that the share was made of. The share contains it and all records that reference it, directly or
  /// through others.
  package var root: RecordName?
  /// The account that owns the share, or nil if it is this account.
  package var owner: AccountID?
  /// True if this account owns the share and stopped sharing it. The records belong to the private zone again.
  package var isStopped: Bool

  package init(zone: ZoneID, role: Role, root: RecordName? = nil, owner: AccountID? = nil, isStopped: Bool = false) {
    self.zone = zone
    self.role = role
    self.root = root
    self.owner = owner
    self.isStopped = isStopped
  }

  /// The error message that SQLite returns to a program that writes to a read-only share. Programs may compare it.
  package static let refusal = "mesh: this record belongs to a share that is read-only here"

  /// Whether this account may write to the zone.
  package var mayWrite: Bool { role == .privateZone || role == .owned || role == .readWrite }
}
