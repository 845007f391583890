package import MeshCore

/// The zones: what they are to this device, who writes in them here, and what they did not take.
package struct StoreZones: ZoneStore, StorePart {
  let access: StoreAccess

  package func instance(_ zone: ZoneID) throws -> InstanceID? {
    try read { transaction in
      try transaction.counters.read(zone)?.instance
    }
  }

  package func beginInstance(_ instance: InstanceID, zone: ZoneID, sentThrough: Int64? = nil) throws {
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      if let sentThrough { try transaction.leaveIncrements(row, sentThrough: sentThrough) }
      row.instance = instance
      // A copy of the file can tell whose instance it has, even if this one signs nothing.
      if let device = transaction.device {
        _ = try transaction.catalog.authorNumber(Author(device: device, instance: instance))
      }
      // A unit that the earlier instance left unfinished is never continued; its rows are still pending.
      row.flushPart = 0
      row.flushSynced = 0
      row.flushValues = 0
      row.runLast = 0
      row.runRows = 0
    }
  }

  package func doubtfulIncrements(_ zone: ZoneID) throws -> [RecordName] {
    try read { transaction in
      guard let row = try transaction.counters.read(zone),
        let end = try transaction.pending.formerInstances(in: row.id).last(where: { $0.sentThrough == .max })
      else { return [] }
      return try transaction.counted(in: row.id, before: end.id)
    }
  }

  package func digest(_ zone: ZoneID) throws -> ZoneDigest {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else {
        return ZoneDigest(records: 0, hash: RecordHash(low: 0, high: 0).bytes)
      }
      return ZoneDigest(
        records: UInt64(row.live), hash: RecordHash(low: row.digestLow, high: row.digestHigh).bytes)
    }
  }

  package func setStandings(_ standings: [ZoneStanding]) throws {
    guard try read({ try $0.standings() }) != Set(standings) else { return }
    try write { transaction in
      let before = try transaction.catalog.zones()
      try transaction.zoneRows.replace(standings)
      transaction.catalog.forgetZones()
      try PolicyChanges(transaction: transaction).forgetStrangers()
      let after = try transaction.catalog.zones()
      // A run that was sorted before several zones existed contains the rows of all zones.
      if before.isRouted != after.isRouted { try transaction.run.endAll(transaction.counters) }
      for entry in after.entries.values.sorted(by: { $0.id < $1.id }) where entry.role == .owned {
        let wasOpen = before.entries[entry.id]?.isOpen ?? false
        if let root = entry.root, entry.isOpen != wasOpen { try transaction.look(at: root) }
        if !entry.isOpen { try transaction.pending.lookAtHeld(in: entry.id) }
      }
      // Rows that had no place in a share that took no writes may have one now.
      let isOpened = after.entries.values.contains {
        $0.mayWrite && before.entries[$0.id].map { !$0.mayWrite } ?? false
      }
      if isOpened, let own = after.privateZone { try transaction.pending.lookAtHeld(in: own) }
      try transaction.updatePermissions()
    }
  }

  package func endedZones() throws -> Set<ZoneID> {
    try read { Set(try $0.standings().filter { $0.role == .ended }.map(\.zone)) }
  }

  package func root(named record: RecordName) throws -> RecordName { try read { try $0.root(named: record) ?? record } }

  package func obstacle(toSharing record: RecordName) throws -> ShareObstacle? {
    try read { transaction in
      guard let number = transaction.catalog.knownTable(record.table), let table = transaction.catalog.table(number)
      else {
        return .notSynchronized(table: record.table)
      }
      // This follows CloudKit's library: a private child of another table is not a root in the first place.
      let keys = table.schema.foreignKeys.map { "\($0.columns.joined(separator: ", ")) → \($0.parent)" }
      guard keys.isEmpty else { return .notRoot(table: record.table, foreignKeys: keys) }
      guard !table.isPrivate else { return .isPrivate(table: record.table) }
      guard let name = try transaction.root(named: record) else {
        return .noRecord(RecordName(table: table.schema.name, key: table.form.canonical(record.key)))
      }
      let zones = try transaction.catalog.zones()
      let shown = try transaction.occupant(RecordRef(table: number, key: name.key))
      let place = zones.share(rootedAt: name, shownBy: shown) ?? shown
      guard let place, let entry = zones.entries[place], entry.role != .privateZone, entry.isOpen else { return nil }
      return .alreadyShared(name, in: entry.zone)
    }
  }
}

extension Transaction {
  /// Leaves pending increments of counters to the zone's instance, which ends here and which another file may have
  /// continued.
  ///
  /// - Parameter sentThrough: The time through which that file may have sent increments, if this device wrote it.
  fileprivate func leaveIncrements(_ zone: ZoneCounters, sentThrough: Int64) throws {
    guard let device, let instance = zone.instance, let author = try names.author(with: instance, in: device),
      try !counted(in: zone.id, before: .max).isEmpty
    else { return }
    reached(.incrementsLeft)
    let isOwn = try catalog.author(author).device == device
    try pending.noteEnd(of: author, in: zone.id, sentThrough: isOwn ? sentThrough : .max)
  }

  /// Returns the records with pending increments of counters that belong to a zone, or may belong to it.
  ///
  /// - Parameter note: The id of the first note not to look at.
  fileprivate func counted(in zone: Int64, before note: Int64) throws -> [RecordName] {
    let owner = try catalog.zones().entries[zone]?.standing.owner
    var counted: [RecordName] = []
    for (ref, word) in try pending.overwritten(in: zone, before: note) {
      guard let table = catalog.table(ref.table),
        catalog.policies(of: table, in: owner)[table.successors[word] ?? word] == .counter
      else { continue }
      let name = RecordName(table: table.schema.name, key: table.form.canonical(ref.key))
      if counted.last != name { counted.append(name) }
    }
    return counted
  }

  fileprivate func standings() throws -> Set<ZoneStanding> {
    Set(try catalog.zones().entries.values.map(\.standing))
  }

  /// Returns the record's canonical name, or nil if there is no such row.
  fileprivate func root(named record: RecordName) throws -> RecordName? {
    guard let table = catalog.knownTable(record.table).flatMap(catalog.table),
      let row = try sql.first(table.selectKey, [record.key], { $0.value(0) })
    else { return nil }
    return RecordName(table: table.schema.name, key: table.form.canonical(row))
  }

  /// Returns the zone whose record the row shows.
  func occupant(_ ref: RecordRef, besides zone: Int64 = 0) throws -> Int64? {
    try recordRows.zone(showing: ref, besides: zone)
  }

  /// Returns the zone whose record the row shows. If the table was not synchronized for a while, returns the zone whose
  /// record it showed before.
  func place(of ref: RecordRef) throws -> Int64? {
    if let shown = try occupant(ref) { return shown }
    return try recordRows.zones(of: ref, .untracked).min(by: catalog.zones().precedes)
  }

  /// Requests a check of the zone to which a record belongs now.
  func look(at name: RecordName) throws {
    guard let table = catalog.knownTable(name.table) else { return }
    try look(at: RecordRef(table: table, key: name.key))
  }

  func look(at ref: RecordRef) throws {
    try pending.note(ref, PendingSlice.Op.look)
  }
}
