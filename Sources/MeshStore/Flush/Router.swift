import MeshCore

/// Finds the zones of pending rows, if the file has records of several zones.
///
/// A record belongs to the zone of the record that it refers to by its table's only foreign key. A record without a
/// reference stays in its zone, and starts in the private zone. The router works inside a write transaction.
struct Router {
  let session: Session
  let zones: ZoneBook
  private var homes: [RecordRef: Int64] = [:]
  private var circular: [Int64: Bool] = [:]
  private var scopes: [Int64: ShareScope] = [:]
  private var sql: Connection { session.sql }

  /// The columns from `Session.foreignColumns`, for zones that can't be written.
  private let foreignColumns: [FoldedName: Set<FoldedName>]

  init(_ session: Session) throws {
    self.session = session
    let isRestricted = try session.catalog.zones().entries.values.contains { !$0.mayWrite }
    foreignColumns = isRestricted ? try session.foreignColumns() : [:]
    zones = try session.catalog.zones()
  }

  /// The notes of one record, and the place of its rows in the log.
  private struct Entry {
    let ref: RecordRef
    let table: TableForm
    var ids: [Int64] = []
    var lookIDs: [Int64] = []
    var isDeleted = false
    /// True if its reference may have changed.
    var mayMove = false
    /// True if only columns were written that no other device has, or that a migration fills on every machine. Such
    /// writes are not sent.
    var isLocal = true
    var wall: Int64 = 0
  }

  private enum Route {
    case zone(Int64)
    case move(from: Int64, to: Int64)
    case drop
    /// A new row that a share did not accept, and of which a copy is kept. It stays as a private record, and is also
    /// kept as a receipt.
    case keep(in: Int64, refusedBy: Int64)
    /// The root is deleted. The share is left, and pending writes to it are given up.
    case leave(Int64)

    /// The zone of the record's pending rows from now on.
    var target: Int64? {
      switch self {
      case .zone(let zone), .move(_, let zone), .keep(let zone, _): zone
      case .drop, .leave: nil
      }
    }
  }

  /// Routes the next rows, and moves their records if necessary.
  mutating func routeSlice() throws {
    var routed: [(entry: Entry, route: Route)] = []
    for entry in try entries() { routed.append((entry, try route(entry))) }
    let placed = try placed(routed)
    for (entry, route) in routed {
      try place(placed[entry.ref] ?? [], again: route)
      try carry(out: route, entry)
    }
    for case .leave(let zone) in routed.map(\.route) { try giveUp(zone) }
  }

  private func entries() throws -> [Entry] {
    var entries: [Entry] = []
    var places: [RecordRef: Int] = [:]
    var strays: [Int64] = []
    let statement = try sql.statement(
      "SELECT id, tbl, layout, key, op, word, mask, wall FROM mesh_pending WHERE zone IS NULL ORDER BY id LIMIT \(Choices.slice)"
    )
    defer { statement.reset() }
    while try statement.step() {
      guard let table = session.catalog.table(ofNoted: statement.integer(4), statement.integer(1)), !statement.isNull(3)
      else {
        strays.append(statement.integer(0))
        continue
      }
      let ref = RecordRef(table: table.id, key: table.form.canonical(statement.value(3)))
      let place = places[ref] ?? entries.count
      if place == entries.count { entries.append(Entry(ref: ref, table: table)) }
      places[ref] = place
      try note(statement, &entries[place])
    }
    // These rows belong to tables that are no longer synchronized.
    for id in strays { try sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(id)]) }
    return entries
  }

  private func note(_ row: Statement, _ entry: inout Entry) throws {
    let op = row.integer(4)
    if op == PendingSlice.Op.look { entry.lookIDs.append(row.integer(0)) } else { entry.ids.append(row.integer(0)) }
    entry.wall = max(entry.wall, row.integer(7))
    if try op != PendingSlice.Op.look && !isLocal(row, entry.table) { entry.isLocal = false }
    switch op {
    case PendingSlice.Op.delete: entry.isDeleted = true
    case PendingSlice.Op.was: break
    case PendingSlice.Op.update:
      guard let parent = entry.table.parent else { return }
      let layout = try session.catalog.layout(row.integer(2))
      let index = layout.firstIndex(of: entry.table.columns[parent.column].id)
      if let index, index / Layout.wordSize == Int(row.integer(5)) {
        entry.mayMove = entry.mayMove || row.integer(6) >> Int64(index % Layout.wordSize) & 1 == 1
      }
    default: entry.mayMove = true
    }
  }

  private func isLocal(_ row: Statement, _ table: TableForm) throws -> Bool {
    if row.integer(4) == PendingSlice.Op.was { return true }
    guard row.integer(4) == PendingSlice.Op.update else { return false }
    let (word, mask) = (Int(row.integer(5)), row.integer(6))
    if mask == 0 || row.integer(7) <= PendingSlice.migrated { return true }
    let layout = try session.catalog.layout(row.integer(2))
    let local = table.columns(besides: foreignColumns)
    return layout.enumerated().allSatisfy { index, column in
      index / Layout.wordSize != word || mask >> Int64(index % Layout.wordSize) & 1 == 0 || local.contains(column)
    }
  }

  // MARK: Where a record belongs

  private mutating func route(_ entry: Entry) throws -> Route {
    let (ref, table) = (entry.ref, entry.table)
    let shown = try session.place(of: ref)
    guard let row = try row(table, ref.key) else {
      if let zone = try shown ?? (table.isHere ? nil : keeper(of: ref)) { return try routeDelete(entry, zone) }
      return try routeHeld(entry)
    }
    guard let shown else {
      let home = try home(ref, table, row, own: nil)
      if let own = zones.privateZone, zones.entries[home].map({ $0.hasEnded && $0.keepsCopy }) ?? false {
        return entry.ids.isEmpty ? .drop : .keep(in: own, refusedBy: home)
      }
      return .zone(home)
    }
    if zones.entries[shown]?.isLeft == true { return .leave(shown) }
    // The reference itself may be unchanged. A row that is written under a parent that has left goes where the parent
    // is.
    let home = try home(ref, table, row, own: shown)
    if home == shown {
      return entry.ids.isEmpty || entry.isLocal && !zones.mayWrite(shown) ? .drop : .zone(shown)
    }
    if zones.mayWrite(shown) && zones.mayWrite(home) { return .move(from: shown, to: home) }
    if entry.ids.isEmpty { return .drop }
    // The row is reset to the merged values. The write is listed under the zone that did not accept it.
    return .zone(zones.mayWrite(home) ? shown : home)
  }

  private func routeDelete(_ entry: Entry, _ zone: Int64) throws -> Route {
    guard let share = zones.entries[zone], share.role == .readWrite || share.role == .owned else { return .zone(zone) }
    if share.isLeft { return .leave(zone) }
    let name = RecordName(table: entry.table.schema.name, key: entry.ref.key)
    guard zones.share(rootedAt: name, shownBy: zone) == zone else { return .zone(zone) }
    if share.role == .readWrite { return .leave(zone) }
    try markRootGone(zone)
    return .zone(zone)
  }

  /// Returns the first of the zones in which the record is alive.
  private func keeper(of ref: RecordRef) throws -> Int64? {
    try sql.all(
      "SELECT zone FROM mesh_record WHERE tbl = ? AND key = ? AND generation & 1", [.integer(ref.table), ref.key]
    ) { $0.integer(0) }.min(by: zones.precedes)
  }

  /// Routes a record that is not in its table: an edit was noted before it was withdrawn, or its parent is in another
  /// zone.
  private mutating func routeHeld(_ entry: Entry) throws -> Route {
    guard let zone = try keeper(of: entry.ref) else { return .drop }
    guard entry.mayMove, let left = try ZoneRow.read(id: zone, sql),
      let record = try ZoneRecords(session, zone: left).load(entry.ref), record.held != .outsideShare
    else { return entry.ids.isEmpty ? .drop : .zone(zone) }
    let row = entry.table.columns.map { record.extra[$0.id] ?? .null }
    // Only records that this account's own devices wrote, or that it took back from a share, follow their parent
    // automatically. Otherwise another account could put records into the private zone by naming a parent there.
    let isOwn = zone == zones.privateZone || zones.entries[zone].map { $0.role == .owned && !$0.isOpen } ?? false
    let home = try home(entry.ref, entry.table, row, own: zone)
    if isOwn, home != zone, zones.mayWrite(home), try mayFollow(entry, row, from: left, to: home) {
      return .move(from: zone, to: home)
    }
    return entry.ids.isEmpty ? .drop : .zone(zone)
  }

  /// Returns whether a record that waits in the private zone may follow its parent. The parent must have moved from
  /// there, or must never have been there. The record must not follow another record that happens to have the parent's
  /// key. It must also not overwrite one.
  private func mayFollow(_ entry: Entry, _ row: [Value], from left: ZoneRow, to home: Int64) throws -> Bool {
    guard left.id == zones.privateZone else { return true }
    if let there = try ZoneRow.read(id: home, sql),
      try ZoneRecords(session, zone: there).load(entry.ref)?.isAlive ?? false
    {
      return false
    }
    guard let reference = entry.table.parent, let parent = session.catalog.table(reference.parent) else { return true }
    let ref = RecordRef(table: parent.id, key: parent.parentKey(row[reference.column]))
    let (own, shown) = (ZoneRecords(session, zone: left), try session.occupant(ref))
    guard let known = try own.load(ref), let shown, shown != left.id, let other = try ZoneRow.read(id: shown, sql)
    else { return true }
    let others = ZoneRecords(session, zone: other)
    guard let life = try others.load(ref).flatMap({ try others.state(ref, $0).life }) else { return false }
    return try known.isAlive ? own.state(ref, known).life == life : own.hasWritten(life.author)
  }

  private func row(_ table: TableForm, _ key: Value) throws -> [Value]? {
    table.isHere ? try sql.first(table.select, [key]) { table.row($0) } : nil
  }

  /// Returns the zone to which a record belongs.
  ///
  /// - Parameter own: The zone that shows the record now.
  private mutating func home(_ ref: RecordRef, _ table: TableForm, _ row: [Value], own: Int64?) throws -> Int64 {
    if let known = homes[ref] { return known }
    // A record of a parent that is about to leave with its share was written to that share.
    let stays = own.flatMap { zones.entries[$0] }.map { $0.isOpen || $0.hasEnded } ?? false
    let fallback = (stays ? own : nil) ?? zones.privateZone ?? own ?? 0
    // This value ends a circle of references.
    homes[ref] = fallback
    let home = try findHome(ref, table, row, own: own) ?? fallback
    homes[ref] = home
    return home
  }

  private mutating func findHome(_ ref: RecordRef, _ table: TableForm, _ row: [Value], own: Int64?) throws -> Int64? {
    let name = RecordName(table: table.schema.name, key: ref.key)
    if let share = zones.share(rootedAt: name, shownBy: own) { return share }
    if table.isPrivate { return zones.privateZone }
    guard let reference = try table.parent ?? anchor(of: table, in: own), row[reference.column] != .null,
      !isCircular(table),
      let parent = session.catalog.table(reference.parent)
    else { return nil }
    let parentRef = RecordRef(table: parent.id, key: parent.parentKey(row[reference.column]))
    guard let parentRow = try self.row(parent, parentRef.key) else { return nil }
    return try home(parentRef, parent, parentRow, own: session.place(of: parentRef))
  }

  /// Returns the reference that decides the zone of a record in a share. A record stays with the reference by which it
  /// joined the share, even if its table has others now.
  private mutating func anchor(of table: TableForm, in zone: Int64?) throws -> Reference? {
    guard let zone, table.schema.foreignKeys.count > 1 else { return nil }
    if scopes[zone] == nil { scopes[zone] = try ShareScope(zone, session.catalog) }
    return scopes[zone]?.anchor(of: table)
  }

  /// Returns whether a table's references lead back to itself. Such tables can't be in shares, because chains of their
  /// rows can have any length.
  private mutating func isCircular(_ table: TableForm) -> Bool {
    if let known = circular[table.id] { return known }
    var seen: Set<Int64> = []
    var next: TableForm? = table
    while let table = next, seen.insert(table.id).inserted {
      next = table.parent.flatMap { session.catalog.table($0.parent) }
    }
    circular[table.id] = next != nil
    return next != nil
  }

  // MARK: Rows that found a zone before, and wait there

  private struct Placed {
    let id: Int64
    let op: Int64
    let zone: Int64
  }

  /// Returns the placed rows of the records in a slice. It is empty if nothing is moving, which is almost always the
  /// case.
  private func placed(_ routed: [(entry: Entry, route: Route)]) throws -> [RecordRef: [Placed]] {
    let moves = Set(routed.compactMap { if case .move(_, let to) = $0.route { to } else { nil } }).sorted()
    let arriving = "op = \(PendingSlice.Op.arrive) AND zone IS NOT NULL"
    guard try !moves.isEmpty || sql.exists("SELECT 1 FROM mesh_pending WHERE \(arriving) LIMIT 1") else { return [:] }
    // A share may be large, but the records that move with it are already routed to it.
    let targets = Set(routed.compactMap(\.route.target))
    let elsewhere = targets.first.map { targets.count == 1 ? "zone <> \($0)" : "true" } ?? "true"
    let statement = try sql.statement(
      """
      SELECT id, op, zone, tbl, key FROM mesh_pending WHERE zone IS NOT NULL AND key IS NOT NULL AND CASE op
        WHEN \(PendingSlice.Op.depart) THEN abs(zone) IN (\(moves.map { "\($0)" }.joined(separator: ", ")))
        ELSE \(elsewhere) END
      """)
    defer { statement.reset() }
    let refs = Set(routed.map(\.entry.ref))
    var placed: [RecordRef: [Placed]] = [:]
    while try statement.step() {
      guard let table = session.catalog.table(statement.integer(3)) else { continue }
      let ref = RecordRef(table: table.id, key: table.form.canonical(statement.value(4)))
      guard refs.contains(ref) else { continue }
      placed[ref, default: []].append(
        Placed(id: statement.integer(0), op: statement.integer(1), zone: statement.integer(2)))
    }
    return placed
  }

  /// Moves earlier notes of a record to its new zone. A row has one zone, because a flush sends the values that the row
  /// has by then.
  private func place(_ placed: [Placed], again route: Route) throws {
    guard let target = route.target else { return }
    var isChanged = false
    for row in placed {
      // A move to a zone whose departure is still pending: the record is back before it left.
      let isBack = if case .move = route { row.op == PendingSlice.Op.depart && abs(row.zone) == target } else { false }
      let isElsewhere = row.op != PendingSlice.Op.depart && row.zone != target
      guard isBack || isElsewhere else { continue }
      if isBack || row.op == PendingSlice.Op.arrive {
        try sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(row.id)])
      } else {
        try assign([row.id], target)
      }
      isChanged = true
    }
    guard isChanged else { return }
    session.reached(.rowsRerouted)
    try session.run.endAll()
  }

  // MARK: Carrying out

  private func carry(out route: Route, _ entry: Entry) throws {
    for id in entry.lookIDs { try sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(id)]) }
    switch route {
    case .zone(let zone): try assign(entry.ids, zone)
    case .keep(let own, let share):
      session.reached(.newRowKeptAsPrivate)
      try assign(entry.ids, own)
      var room = StoreLimits.assetInMemory
      try session.noteReceipt(
        entry.ref, try session.row(entry.ref, &room), zone: share, .notPermitted, now: entry.wall)
    case .move(let from, let to):
      session.reached(.recordMoved)
      try assign(entry.ids, to)
      try sql.run(
        """
        INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
        VALUES (?, 0, ?, \(PendingSlice.Op.arrive), ?, 0, ?, ?)
        """, [.integer(entry.ref.table), entry.ref.key, .integer(from), .integer(entry.wall), .integer(to)])
    case .drop:
      for id in entry.ids { try sql.run("DELETE FROM mesh_pending WHERE id = ?", [.integer(id)]) }
    case .leave(let zone):
      session.reached(.leftByDeletingRoot)
      try markRootGone(zone)
      try assign(entry.ids, zone)
    }
  }

  private func assign(_ ids: [Int64], _ zone: Int64) throws {
    for id in ids { try sql.run("UPDATE mesh_pending SET zone = ? WHERE id = ?", [.integer(zone), .integer(id)]) }
  }

  private func markRootGone(_ zone: Int64) throws {
    try sql.run("UPDATE mesh_zone SET root_gone = 1 WHERE id = ?", [.integer(zone)])
    session.catalog.forgetZones()
  }
}

extension Session {
  /// Makes the records that refer to a moved record follow it. Its old zone loses the record when all have moved. Until
  /// then, its rows have a negative zone number, so that no flush finds them.
  func follow(_ arrival: FlushPlan.Arrival) throws {
    for reference in arrival.table.referrers {
      guard let child = catalog.table(reference.child), child.parent == reference || child.references.count > 1
      else { continue }
      try sql.run(
        """
        INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall)
        SELECT \(child.id), 0, \(child.keyName.quotedName), \(PendingSlice.Op.look), 0, 0, 0
        FROM main.\(child.schema.name.quotedName) WHERE \(child.columns[reference.column].name.quotedName) = ?
        """, [arrival.ref.key])
    }
    try sql.run(
      """
      INSERT INTO mesh_pending (tbl, layout, key, op, word, mask, wall, zone)
      VALUES (?, 0, ?, \(PendingSlice.Op.depart), 0, 0, 0, ?)
      """, [.integer(arrival.ref.table), arrival.ref.key, .integer(-arrival.zone)])
  }

  /// Routes all pending rows inside a transaction. Returns false if there are too many, if some writes were not
  /// permitted, or if rows of the zone have no writer.
  func routeWithin(_ zone: Int64, hasWriter: Bool) throws -> Bool {
    guard try catalog.zones().isRouted else { return hasWriter }
    var router = try Router(self)
    try router.routeSlice()
    return try !hasUnrouted() && !hasForbidden() && (hasWriter || !hasPending(zone))
  }

  /// Returns whether a pending write has moved the row of one of the records to another zone: it is leaving this zone,
  /// or is not flushed yet. Such a row doesn't show the merged values of any zone.
  func isElsewhere(_ refs: Set<RecordRef>, than zone: Int64) throws -> Bool {
    let statement = try sql.statement("SELECT tbl, key, zone FROM mesh_pending WHERE zone <> ? AND key IS NOT NULL")
    statement.bind(zone, at: 1)
    defer { statement.reset() }
    while try statement.step() {
      guard let table = catalog.table(statement.integer(0)) else { continue }
      let ref = RecordRef(table: table.id, key: table.form.canonical(statement.value(1)))
      guard refs.contains(ref) else { continue }
      if try statement.integer(2) == -zone || occupant(ref, besides: zone) == nil { return true }
    }
    return false
  }

  /// Returns whether rows must be flushed before moved records leave their old zones.
  func hasArrivals() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending WHERE zone > 0 LIMIT 1") }

  func hasUnrouted() throws -> Bool { try sql.exists("SELECT 1 FROM mesh_pending WHERE zone IS NULL LIMIT 1") }

  /// Returns whether rows were written to zones that this device may not write.
  func hasForbidden() throws -> Bool {
    let zones = try catalog.zones()
    guard zones.isRouted, zones.entries.values.contains(where: { !$0.mayWrite }) else { return false }
    return try sql.exists("\(Self.forbidden) LIMIT 1")
  }

  static let forbidden = """
    SELECT id, tbl, key, zone, op FROM mesh_pending WHERE zone IN (\(ZoneBook.unwritable))
    """
}

// MARK: - Whose turn it is

extension Store {
  enum Turn {
    case nothing
    /// Rows have to be routed first.
    case routing
    case writer(ChangeSetWriter)
  }

  /// Returns the next thing to do. Rows of a zone without a writer wait, and don't block others.
  func turn(_ writers: [ZoneID: ChangeSetWriter]) throws -> Turn {
    try read { session in
      let zones = try session.catalog.zones()
      guard zones.isRouted else { return writers.values.first.map(Turn.writer) ?? .nothing }
      // An open unit is finished first.
      let open = zones.entries.values.sorted { $0.id < $1.id }.map(\.zone).first { zone in
        (try? ZoneRow.read(zone, session.sql))?.map { $0.flushPart > 0 } ?? false
      }
      if let open { return writers[open].map(Turn.writer) ?? .nothing }
      if try session.hasUnrouted() || session.hasForbidden() { return .routing }
      let writable = zones.entries.values.filter { writers[$0.zone] != nil }.map { "\($0.id)" }.joined(separator: ", ")
      let next = try session.sql.integer(
        "SELECT zone FROM mesh_pending WHERE zone IN (\(writable)) ORDER BY id LIMIT 1")
      if let next, let writer = zones.entries[next].flatMap({ writers[$0.zone] }) { return .writer(writer) }
      return try session.hasPending() && !session.hasArrivals() ? .routing : .nothing
    }
  }

  /// Makes one step. It routes rows to their zones. When that is done, it makes moved records leave their old zones.
  func route(now: Int64) throws -> FlushProgress {
    try write(isDurable: false) { session in
      if try session.hasUnrouted() {
        var router = try Router(session)
        try router.routeSlice()
      } else if try !session.hasArrivals() {
        try session.sql.run("UPDATE mesh_pending SET zone = -zone WHERE zone < 0")
      }
      return FlushProgress(head: nil, records: 0, hasMore: try session.hasPending())
    }
  }

  /// Returns the shares of this account whose root was deleted, once their deletes are in change sets. Until then,
  /// records that are left would come back as private ones.
  func deletedRoots() throws -> [ZoneID] {
    try read { session in
      try session.catalog.zones().entries.values.filter {
        try $0.isRootGone && ($0.role != .owned || !session.hasPending($0.id))
      }.map(\.zone).sorted()
    }
  }
}
