import MeshCore

/// Finds the zones of pending rows, if the file has records of several zones.
///
/// A record belongs to the zone of the record that it refers to by its table's only foreign key. A record without a
/// reference stays in its zone, and starts in the private zone. The router works inside a write transaction.
struct Router {
  let transaction: Transaction
  let zones: ZoneBook
  private var homes: [RecordRef: Int64] = [:]
  private var circular: [Int64: Bool] = [:]
  private var scopes: [Int64: ShareScope] = [:]
  private var sql: Connection { transaction.sql }

  /// The columns from `Transaction.foreignColumns`, for zones that can't be written.
  private let foreignColumns: [FoldedName: Set<FoldedName>]

  init(_ transaction: Transaction) throws {
    self.transaction = transaction
    let isRestricted = try transaction.catalog.zones().entries.values.contains { !$0.mayWrite }
    foreignColumns = isRestricted ? try transaction.foreignColumns() : [:]
    zones = try transaction.catalog.zones()
  }

  /// The notes of one record, and the place of its rows in the log.
  private struct Entry {
    let ref: RecordRef
    let table: TableForm
    var ids: [Int64] = []
    var lookIDs: [Int64] = []
    var isDeleted = false
    /// Whether a program deleted it after its last other write.
    var isGone = false
    var isUnreadable = false
    /// True if its reference may have changed.
    var mayMove = false
    /// True if only columns were written that no other device has, or that a migration fills on every machine. Such
    /// writes are not sent.
    var isLocal = true
    var wall: Int64 = 0
  }

  private enum Route {
    /// The record is in the zone.
    case zone(Int64)
    /// No zone has the record yet.
    case birth(in: Int64)
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
      case .zone(let zone), .birth(let zone), .move(_, let zone), .keep(let zone, _): zone
      case .drop, .leave: nil
      }
    }
  }

  /// Routes the next rows, and moves their records if necessary.
  mutating func routeSlice() throws {
    var routed: [(entry: Entry, route: Route)] = []
    for entry in try entries() { routed.append((entry, try route(entry))) }
    for (entry, route) in routed {
      try placeAgain(entry, route)
      try carry(out: route, entry)
    }
    for case .leave(let zone) in routed.map(\.route) { try giveUp(zone) }
  }

  private func entries() throws -> [Entry] {
    var entries: [Entry] = []
    var places: [RecordRef: Int] = [:]
    var strays: [Int64] = []
    try transaction.pending.forEachUnrouted(limit: Choices.slice) { row in
      guard let table = transaction.catalog.table(ofNoted: row.op, row.table), row.hasKey else {
        strays.append(row.id)
        return
      }
      let ref = RecordRef(table: table.id, key: table.form.canonical(row.key))
      let place = places[ref] ?? entries.count
      if place == entries.count { entries.append(Entry(ref: ref, table: table)) }
      places[ref] = place
      try note(row, &entries[place])
    }
    // These rows belong to tables that are no longer synchronized.
    try transaction.pending.remove(strays)
    return entries
  }

  private func note(_ row: PendingTable.Row, _ entry: inout Entry) throws {
    let op = row.op
    if op == PendingSlice.Op.look { entry.lookIDs.append(row.id) } else { entry.ids.append(row.id) }
    entry.wall = max(entry.wall, row.wall)
    if op == PendingSlice.Op.insert || op == PendingSlice.Op.delete { entry.isGone = op == PendingSlice.Op.delete }
    if try op != PendingSlice.Op.look && !isLocal(row, entry.table) { entry.isLocal = false }
    switch op {
    case PendingSlice.Op.delete: entry.isDeleted = true
    case PendingSlice.Op.was: break
    case PendingSlice.Op.update where row.word == PendingSlice.unreadable: entry.isUnreadable = true
    case PendingSlice.Op.update:
      guard let parent = entry.table.parent else { return }
      let layout = try transaction.catalog.layout(row.layout)
      let index = layout.firstIndex(of: entry.table.columns[parent.column].id)
      if let index, index / Layout.wordSize == Int(row.word) {
        entry.mayMove = entry.mayMove || row.mask >> Int64(index % Layout.wordSize) & 1 == 1
      }
    default: entry.mayMove = true
    }
  }

  private func isLocal(_ row: PendingTable.Row, _ table: TableForm) throws -> Bool {
    if row.op == PendingSlice.Op.was { return true }
    guard row.op == PendingSlice.Op.update else { return false }
    let (word, mask) = (Int(row.word), row.mask)
    if mask == 0 || row.wall <= PendingSlice.migrated { return true }
    let layout = try transaction.catalog.layout(row.layout)
    let local = table.columns(besides: foreignColumns)
    return layout.enumerated().allSatisfy { index, column in
      index / Layout.wordSize != word || mask >> Int64(index % Layout.wordSize) & 1 == 0 || local.contains(column)
    }
  }

  // MARK: Where a record belongs

  private mutating func route(_ entry: Entry) throws -> Route {
    let (ref, table) = (entry.ref, entry.table)
    let shown = try transaction.place(of: ref)
    guard let row = try row(table, ref.key) else {
      // Its message has to be in some zone.
      if entry.isUnreadable, shown == nil, let own = zones.privateZone { return .zone(own) }
      if let zone = try shown ?? (table.isHere ? nil : keeper(of: ref)) { return try routeDelete(entry, zone) }
      return try routeHeld(entry)
    }
    guard let shown = try shown ?? hidden(ref) else {
      let home = try home(ref, table, row, own: nil)
      if let own = zones.privateZone, zones.entries[home].map({ $0.hasEnded && $0.keepsCopy }) ?? false {
        return entry.ids.isEmpty ? .drop : .keep(in: own, refusedBy: home)
      }
      return .birth(in: home)
    }
    if zones.entries[shown]?.isLeft == true { return .leave(shown) }
    // The reference itself may be unchanged. A row that is written under a parent that has left goes where the parent
    // is.
    let home = try home(ref, table, row, own: shown)
    if home == shown {
      // The record may have been about to follow its parent, which has come back.
      return (entry.ids.isEmpty || entry.isLocal) && !zones.mayWrite(shown) ? .drop : .zone(shown)
    }
    if zones.mayWrite(shown) && zones.mayWrite(home) { return .move(from: shown, to: home) }
    if entry.ids.isEmpty { return .drop }
    // Nobody wrote a reference: the table's foreign keys have changed. The flush of the row's zone hides the row.
    if entry.isLocal, zones.mayWrite(shown) { return .zone(shown) }
    // The row is reset to the merged values. The write is listed under the zone that did not accept it.
    return .zone(zones.mayWrite(home) ? shown : home)
  }

  /// Returns the zone of a record without a row, whose place a program's new row takes. The record waits for its parent,
  /// or the table refused it. In the same zone the new row overwrites it, and in another zone it moves.
  private func hidden(_ ref: RecordRef) throws -> Int64? {
    let alive = try transaction.recordRows.zones(of: ref, .alive).filter { zone in
      zones.mayWrite(zone) && (zone == zones.privateZone || zones.entries[zone]?.role == .owned)
    }
    if alive.isEmpty { return nil }
    let left = try transaction.pending.routed(ref).filter { $0.op == PendingSlice.Op.depart }.map { abs($0.zone) }
    return try alive.filter { zone in
      guard !left.contains(zone), let row = try transaction.counters.read(id: zone) else { return false }
      let reason = try ZoneRecords(transaction, zone: row).load(ref)?.held
      return reason == .constraint || reason?.concernsParent == true
    }.min(by: zones.precedes)
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
    try transaction.recordRows.zones(of: ref, .alive).min(by: zones.precedes)
  }

  /// Routes a record that is not in its table: an edit was noted before it was withdrawn, or its parent is in another
  /// zone.
  private mutating func routeHeld(_ entry: Entry) throws -> Route {
    // The flush of a row that was never sent, and is gone, removes its message.
    guard let zone = try keeper(of: entry.ref) ?? transaction.held.zoneOfUnsent(entry.ref) else { return .drop }
    if entry.isGone { return .zone(zone) }
    guard entry.mayMove, let left = try transaction.counters.read(id: zone),
      let record = try ZoneRecords(transaction, zone: left).load(entry.ref), record.held != .outsideShare
    else { return entry.ids.isEmpty ? .drop : .zone(zone) }
    let row = entry.table.columns.map { record.extra[$0.id] ?? .null }
    // Only records that this account's own devices wrote, or that returned to it from a share, follow their parent
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
  private func mayFollow(_ entry: Entry, _ row: [Value], from left: ZoneCounters, to home: Int64) throws -> Bool {
    guard left.id == zones.privateZone else { return true }
    if let there = try transaction.counters.read(id: home),
      try ZoneRecords(transaction, zone: there).load(entry.ref)?.isAlive ?? false
    {
      return false
    }
    guard let reference = entry.table.parent, let parent = transaction.catalog.table(reference.parent) else {
      return true
    }
    let ref = RecordRef(table: parent.id, key: parent.parentKey(row[reference.column]))
    let (own, shown) = (ZoneRecords(transaction, zone: left), try transaction.occupant(ref))
    guard let known = try own.load(ref), let shown, shown != left.id,
      let other = try transaction.counters.read(id: shown)
    else { return true }
    let others = ZoneRecords(transaction, zone: other)
    guard let life = try others.load(ref).flatMap({ try others.state(ref, $0).life }) else { return false }
    if known.isAlive { return try own.state(ref, known).life == life }
    return try life.author.device == transaction.device || own.hasWritten(life.author)
  }

  private func row(_ table: TableForm, _ key: Value) throws -> [Value]? {
    table.isHere && table.keeps(key) ? try sql.first(table.select, [key]) { table.row($0) } : nil
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
      let parent = transaction.catalog.table(reference.parent)
    else { return nil }
    let parentRef = RecordRef(table: parent.id, key: parent.parentKey(row[reference.column]))
    guard let parentRow = try self.row(parent, parentRef.key) else { return nil }
    return try home(parentRef, parent, parentRow, own: transaction.place(of: parentRef))
  }

  /// Returns the reference that decides the zone of a record in a share. A record stays with the reference by which it
  /// joined the share, even if its table has others now.
  private mutating func anchor(of table: TableForm, in zone: Int64?) throws -> Reference? {
    guard let zone, table.schema.foreignKeys.count > 1 else { return nil }
    if scopes[zone] == nil { scopes[zone] = try ShareScope(zone, transaction.catalog) }
    return scopes[zone]?.anchor(of: table)
  }

  /// Returns whether a table's references lead back to itself. Such tables can't be in shares, because chains of their
  /// rows can have any length.
  private mutating func isCircular(_ table: TableForm) -> Bool {
    if let known = circular[table.id] { return known }
    var seen: Set<Int64> = []
    var next: TableForm? = table
    while let table = next, seen.insert(table.id).inserted {
      next = table.parent.flatMap { transaction.catalog.table($0.parent) }
    }
    circular[table.id] = next != nil
    return next != nil
  }

  // MARK: Rows that found a zone before, and wait there

  /// Moves earlier notes of a record to its new zone. A row has one zone, because a flush sends the values that the row
  /// has by then.
  private func placeAgain(_ entry: Entry, _ route: Route) throws {
    guard let target = route.target else { return }
    var isChanged = false
    for row in try transaction.pending.routed(entry.ref) {
      // The record comes back to a zone that it was about to leave. It leaves the zone all the same if it goes
      // elsewhere before it has arrived. The flush of its arrival removes the note.
      let isBack = row.op == PendingSlice.Op.depart && row.zone == target
      let isElsewhere = row.op != PendingSlice.Op.depart && row.zone != target
      guard isBack || isElsewhere else { continue }
      if isBack {
        try transaction.pending.assign([row.id], -target, key: entry.ref.key)
      } else if row.op == PendingSlice.Op.arrive {
        try transaction.pending.remove([row.id])
        // The records that belong to it were about to follow it.
        try transaction.lookAtReferrers(of: entry.ref, entry.table)
      } else {
        try transaction.pending.assign([row.id], target, key: entry.ref.key)
      }
      isChanged = true
    }
    guard isChanged else { return }
    transaction.reached(.rowsRerouted)
    try transaction.run.endAll(transaction.counters)
    // New records that refer to it were routed to the same zone as it was. Records that a zone has follow once it has
    // moved.
    if case .birth = route { try transaction.lookAtReferrers(of: entry.ref, entry.table) }
  }

  // MARK: Carrying out

  private func carry(out route: Route, _ entry: Entry) throws {
    try transaction.pending.remove(entry.lookIDs)
    switch route {
    case .zone(let zone), .birth(let zone): try assign(entry, to: zone)
    case .keep(let own, let share):
      transaction.reached(.newRowKeptAsPrivate)
      try assign(entry, to: own)
      var room = StoreLimits.assetInMemory
      try transaction.noteReceipt(
        entry.ref, try transaction.row(entry.ref, &room), zone: share, .notPermitted, now: entry.wall)
    case .move(let from, let to):
      transaction.reached(.recordMoved)
      try assign(entry, to: to)
      try transaction.pending.note(entry.ref, PendingSlice.Op.arrive, word: from, wall: entry.wall, zone: to)
    case .drop:
      try transaction.pending.remove(entry.ids)
    case .leave(let zone):
      transaction.reached(.leftByDeletingRoot)
      try markRootGone(zone)
      try assign(entry, to: zone)
    }
  }

  private func assign(_ entry: Entry, to zone: Int64) throws {
    try transaction.pending.assign(entry.ids, zone, key: entry.ref.key)
  }

  private func markRootGone(_ zone: Int64) throws {
    try transaction.zoneRows.noteRootGone(zone)
    transaction.catalog.forgetZones()
  }
}

extension Transaction {
  /// Makes the records that refer to a moved record follow it. Its old zone loses the record when all have moved. Until
  /// then, its rows have a negative zone number, so that no flush finds them.
  func depart(_ ref: RecordRef, _ table: TableForm, from zone: Int64) throws {
    try lookAtReferrers(of: ref, table)
    try pending.note(ref, PendingSlice.Op.depart, zone: -zone)
  }

  /// Requests a check of the zones of the records that refer to a record.
  fileprivate func lookAtReferrers(of ref: RecordRef, _ table: TableForm) throws {
    for reference in table.referrers {
      guard let child = catalog.table(reference.child), child.parent == reference || child.references.count > 1
      else { continue }
      try pending.lookAtRows(of: child, referringBy: reference.column, to: ref.key)
    }
  }

  /// Routes all pending rows inside a transaction. Returns false if there are too many, if some writes were not
  /// permitted, or if rows of the zone have no writer.
  func routeWithin(_ zone: Int64, hasWriter: Bool) throws -> Bool {
    let zones = try catalog.zones()
    guard zones.isRouted else { return hasWriter }
    guard zones.privateZone != nil else { return try !hasPending() }
    if try pending.hasUnrouted() { try routeSlice() }
    return try !pending.hasUnrouted() && !hasForbidden() && (hasWriter || !hasPending(zone))
  }

  /// Routes the next rows.
  func routeSlice() throws {
    var router = try Router(self)
    try router.routeSlice()
  }

  /// Returns whether rows are pending whose zone is to be found.
  func hasUnrouted() throws -> Bool {
    let zones = try catalog.zones()
    return try zones.isRouted && zones.privateZone != nil && pending.hasUnrouted()
  }

  /// Returns whether a pending write has moved the row of one of the records to another zone: it is leaving this zone,
  /// or is not flushed yet. Such a row doesn't show the merged values of any zone.
  func isElsewhere(_ refs: Set<RecordRef>, than zone: Int64) throws -> Bool {
    try refs.contains { ref in
      try pending.routed(ref).contains { row in
        try row.zone != zone && (row.zone == -zone || occupant(ref, besides: zone) == nil)
      }
    }
  }

  /// Returns whether rows were written to zones that this device may not write.
  func hasForbidden() throws -> Bool {
    let zones = try catalog.zones()
    guard zones.isRouted, zones.entries.values.contains(where: { !$0.mayWrite }) else { return false }
    return try pending.hasForbidden()
  }
}

// MARK: - Whose turn it is

extension StoreFlushes {
  enum Turn {
    case nothing
    /// Rows have to be routed first.
    case routing
    case writer(ChangeSetWriter)
  }

  /// Returns the next thing to do. Rows of a zone without a writer wait, and don't block others.
  func turn(_ writers: [ZoneID: ChangeSetWriter]) throws -> Turn {
    try read { transaction in
      let zones = try transaction.catalog.zones()
      guard zones.isRouted else { return writers.values.first.map(Turn.writer) ?? .nothing }
      guard zones.privateZone != nil else { return .nothing }
      // An open unit is finished first.
      let open = zones.entries.values.sorted { $0.id < $1.id }.map(\.zone).first { zone in
        (try? transaction.counters.read(zone))?.map { $0.flushPart > 0 } ?? false
      }
      if let open { return writers[open].map(Turn.writer) ?? .nothing }
      if try transaction.pending.hasUnrouted() || transaction.hasForbidden() { return .routing }
      let next = try transaction.pending.firstZone(
        of: zones.entries.values.filter { writers[$0.zone] != nil }.map(\.id))
      if let next, let writer = zones.entries[next].flatMap({ writers[$0.zone] }) { return .writer(writer) }
      return try transaction.hasPending() && !transaction.pending.hasRouted() ? .routing : .nothing
    }
  }

  /// Makes one step. It routes rows to their zones. When that is done, it makes moved records leave their old zones.
  func route(now: Int64) throws -> FlushProgress {
    try write(isDurable: false) { transaction in
      if try transaction.pending.hasUnrouted() {
        try transaction.routeSlice()
      } else if try !transaction.pending.hasRouted() {
        try transaction.pending.beginDepartures()
      }
      return FlushProgress(head: nil, records: 0, hasMore: try transaction.hasPending())
    }
  }

  /// Returns the shares of this account whose root was deleted, once their deletes are in change sets. Until then,
  /// records that are left would come back as private ones.
  func deletedRoots() throws -> [ZoneID] {
    try read { transaction in
      try transaction.catalog.zones().entries.values.filter {
        try $0.isRootGone && ($0.role != .owned || !transaction.hasPending($0.id))
      }.map(\.zone).sorted()
    }
  }
}
