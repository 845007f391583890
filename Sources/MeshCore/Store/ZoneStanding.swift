/// What a zone is to this device: the word of its control log, which a store believes and keeps as a cache. Where rows belong,
/// which of two records with one key is shown, and what programs may write follow from it.
public struct ZoneStanding: Hashable, Sendable {
  public enum Role: Int64, Sendable {
    /// The account's own, of all records that no share holds. It comes first where two zones claim one row.
    case privateZone = 0
    /// A share that this account made.
    case owned = 1
    case readWrite = 2
    case readOnly = 3
    /// A share that this account has no part in any more: its rows take no edits, and are to be dropped.
    case ended = 4
  }

  public var zone: ZoneID
  public var role: Role
  /// The record that a share was made of: it belongs to the share, with all that reaches it.
  public var root: RecordName?
  /// Its owner, which is this account, has stopped sharing it: its records belong to the private zone again.
  public var isStopped: Bool

  public init(zone: ZoneID, role: Role, root: RecordName? = nil, isStopped: Bool = false) {
    self.zone = zone
    self.role = role
    self.root = root
    self.isStopped = isStopped
  }

  /// What SQLite says to a program that writes to a share which is read-only here. Programs may compare it.
  public static let refusal = "mesh: this record belongs to a share that is read-only here"

  public var mayWrite: Bool { role == .privateZone || role == .owned || role == .readWrite }
}
