import MeshCore

/// What the zones of the file are to this device, as it was last told.
struct ZoneBook {
  struct Entry {
    /// `mesh_zone.id`.
    let id: Int64
    let standing: ZoneStanding
    /// The root was deleted here, and nobody has been told yet.
    let isRootGone: Bool
    /// Its rows stay when it is dropped.
    let keepsCopy: Bool

    /// Records may belong to it. A share that its owner ended gives its records back.
    var isOpen: Bool { role != .ended && !standing.isStopped }
    var zone: ZoneID { standing.zone }
    var role: ZoneStanding.Role { standing.role }
    var root: RecordName? { standing.root }
    var mayWrite: Bool { standing.mayWrite && !isLeft }
    /// Its records are about to go.
    var hasEnded: Bool { role == .ended }
    /// Nothing that happens to its records concerns anybody else any more.
    var isLeft: Bool { isRootGone && role == .readWrite }
  }

  private struct Root: Hashable {
    let table: FoldedName
    let key: Value

    init(_ record: RecordName) { (table, key) = (record.table.folded, record.key) }
  }

  let entries: [Int64: Entry]
  /// Others may have made a share of a record with the same name.
  private let roots: [Root: [Int64]]
  let privateZone: Int64?

  init(_ entries: [Entry]) {
    self.entries = Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let open = entries.filter(\.isOpen).sorted { $0.zone < $1.zone }
    roots = Dictionary(open.compactMap { entry in entry.root.map { (Root($0), [entry.id]) } }, uniquingKeysWith: +)
    privateZone = entries.first { $0.role == .privateZone }?.id
  }

  static func read(_ sql: Connection) throws -> ZoneBook {
    ZoneBook(
      try sql.all(
        "SELECT id, zone, role, root_table, root_key, root_gone, stopped, keep_copy FROM mesh_zone WHERE role IS NOT NULL"
      ) {
        row in
        ZoneID(row.bytes(1)).flatMap { zone in
          ZoneStanding.Role(rawValue: row.integer(2)).map { role in
            let root = row.isNull(3) ? nil : RecordName(table: row.text(3), key: row.value(4))
            return Entry(
              id: row.integer(0),
              standing: ZoneStanding(zone: zone, role: role, root: root, isStopped: row.integer(6) == 1),
              isRootGone: row.integer(5) == 1, keepsCopy: row.integer(7) == 1)
          }
        }
      }.compactMap { $0 })
  }

  /// `mesh_zone.id` of those that take no writes, as a query.
  static let unwritable =
    "SELECT id FROM mesh_zone WHERE role IN (\(ZoneStanding.Role.readOnly.rawValue), \(ZoneStanding.Role.ended.rawValue))"

  /// Records of several zones are in this file: whose a row is has to be found out.
  var isRouted: Bool { entries.count > 1 }

  /// The share that was made of this record: that which shows it, or one of this account's. What another made a share of is that
  /// share's record alone, or whoever shares a record with a guessed key would get those that belong to one's own.
  ///
  /// - Parameter zone: That shows the record; nil where none does.
  func share(rootedAt record: RecordName, shownBy zone: Int64?) -> Int64? {
    guard let shares = roots[Root(record)] else { return nil }
    return shares.first { $0 == zone } ?? shares.first { entries[$0]?.role == .owned }
  }

  func mayWrite(_ zone: Int64) -> Bool { entries[zone]?.mayWrite ?? true }

  /// Where two zones have a record for one row, this one comes first: the private zone, then the account's own, then by id.
  /// So nobody displaces a stranger's row by guessing its key.
  func precedes(_ left: Int64, _ right: Int64) -> Bool {
    func rank(_ id: Int64) -> Int64 { min(entries[id]?.role.rawValue ?? 0, ZoneStanding.Role.readWrite.rawValue) }
    guard rank(left) == rank(right), let first = entries[left], let second = entries[right] else {
      return rank(left) < rank(right)
    }
    return first.zone < second.zone
  }
}
