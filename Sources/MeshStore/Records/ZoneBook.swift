import MeshCore

/// The device's standings in the zones of the file, as the store was last told.
struct ZoneBook {
  struct Entry {
    /// The `mesh_zone.id`.
    let id: Int64
    let standing: ZoneStanding
    /// True if the root was deleted here, and no other device has been told yet.
    let isRootGone: Bool
    /// True if its rows stay when it is dropped.
    let keepsCopy: Bool

    /// Whether records may belong to it. A share that its owner stopped returns its records.
    var isOpen: Bool { role != .ended && !standing.isStopped }
    var zone: ZoneID { standing.zone }
    var role: ZoneStanding.Role { standing.role }
    var root: RecordName? { standing.root }
    var mayWrite: Bool { standing.mayWrite && !isLeft }
    /// Whether its records are about to be removed.
    var hasEnded: Bool { role == .ended }
    /// Whether changes to its records no longer concern anybody else.
    var isLeft: Bool { isRootGone && role == .readWrite }
  }

  private struct Root: Hashable {
    let table: FoldedName
    let key: Value

    init(_ record: RecordName) { (table, key) = (record.table.folded, record.key) }
  }

  let entries: [Int64: Entry]
  /// The shares of each root. Others may have made a share of a record with the same name.
  private let roots: [Root: [Int64]]
  let privateZone: Int64?

  init(_ entries: [Entry]) {
    self.entries = Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let open = entries.filter(\.isOpen).sorted { $0.zone < $1.zone }
    roots = Dictionary(open.compactMap { entry in entry.root.map { (Root($0), [entry.id]) } }, uniquingKeysWith: +)
    privateZone = entries.first { $0.role == .privateZone }?.id
  }

  /// Whether each row's zone has to be determined, because the file has several zones, or a share. A share may be the
  /// only zone that is known: a device can learn of it before it learns of its account's private zone.
  var isRouted: Bool { entries.count > 1 || entries.values.contains { $0.role != .privateZone } }

  /// Returns the share that was made of this record: the one that shows it, or one of this account's.
  ///
  /// If another account made the share, only that share's own record counts. Otherwise an account that shares a record
  /// with a guessed key would get this account's records that belong to it.
  ///
  /// - Parameter zone: The zone that shows the record, or nil if none does.
  func share(rootedAt record: RecordName, shownBy zone: Int64?) -> Int64? {
    guard let shares = roots[Root(record)] else { return nil }
    return shares.first { $0 == zone } ?? shares.first { entries[$0]?.role == .owned }
  }

  func mayWrite(_ zone: Int64) -> Bool { entries[zone]?.mayWrite ?? true }

  /// Returns whether the left zone comes first if both zones have a record for one row. The private zone comes first,
  /// then the account's own shares, then the others by id. This keeps anybody from displacing another account's row by
  /// guessing its key.
  func precedes(_ left: Int64, _ right: Int64) -> Bool {
    func rank(_ id: Int64) -> Int64 { min(entries[id]?.role.rawValue ?? 0, ZoneStanding.Role.readWrite.rawValue) }
    guard rank(left) == rank(right), let first = entries[left], let second = entries[right] else {
      return rank(left) < rank(right)
    }
    return first.zone < second.zone
  }
}
