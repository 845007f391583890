import MeshCore

/// Every change set that an honest device signed, whatever happened to it since. Change sets of a branch with a cutoff,
/// or of a file that is gone, are in no node's log.
struct Archive {
  private var changeSets: [ChangeSetID: [UInt8]] = [:]
  /// The ids in the order of archiving, so that the parts of a unit follow each other.
  private var order: [ChangeSetID] = []
  /// The change sets of liars that honest devices have merged. Honest devices write a liar's branches again.
  private var lies: [ChangeSetID: [UInt8]] = [:]

  /// One write of an app, as its device signed it.
  struct Write {
    let fact: Ledger.Fact
    let generation: UInt64
    let stamp: Stamp
    let changeSet: ChangeSetID
    let header: ChangeSetHeader
    var isBirth = false
    /// True for a birth that doesn't name the column. It has no stamp there, and any value with a stamp beats it.
    var isImplied = false
    /// True if its author overwrote it later. A copy of a file may be older than that, and then the later write is
    /// checked.
    var isOverwritten = false
    /// For a delete, the change sets in which the record was created, by its author or by others. If all of them are gone
    /// too, there is nothing left to delete.
    var undoes: Set<ChangeSetID> = []

    var zone: ZoneID { header.zone }
  }

  /// Archives the change sets that a device has signed since the last look.
  mutating func take(
    from device: DeviceID, _ store: any ReplicaStore, _ zone: ZoneID, _ cryptography: any Cryptography
  ) throws {
    for (id, bytes) in try Self.news(of: [device], store, zone, cryptography, besides: changeSets)
    where changeSets.updateValue(bytes, forKey: id) == nil { order.append(id) }
  }

  /// Archives the change sets of liars that an honest device has merged since the last look.
  mutating func takeLies(
    of liars: Set<DeviceID>, _ store: any ReplicaStore, _ zone: ZoneID, _ cryptography: any Cryptography
  ) throws {
    for (id, bytes) in try Self.news(of: liars, store, zone, cryptography, besides: lies) { lies[id] = bytes }
  }

  private static func news(
    of devices: Set<DeviceID>, _ store: any ReplicaStore, _ zone: ZoneID, _ cryptography: any Cryptography,
    besides known: [ChangeSetID: [UInt8]]
  ) throws -> [(id: ChangeSetID, bytes: [UInt8])] {
    try store.log.mergedTips(zone).sorted { $0.key < $1.key }
      .filter { devices.contains($0.key.device) && known[$0.value.id] == nil }
      .flatMap { author, _ in
        let others = try store.log.mergedVector(zone).numbers.filter { $0.key != author }.mapValues { _ in UInt64.max }
        return try store.changeSets(zone, beyond: VersionVector(others)).map {
          (try ChangeSet($0, with: cryptography).id, $0)
        }
      }
  }

  /// Returns those facts that were ever signed. Of equal facts, it returns the last.
  func writes(
    of wanted: Set<Ledger.Fact>, _ keys: [EpochID: EpochKey], _ cryptography: any Cryptography
  ) throws -> [Write] {
    var found: [Ledger.Fact: Write] = [:]
    var all: [RecordName: [Write]] = [:]
    try forEachWrite(keys, cryptography) { write in
      all[write.fact.record, default: []].append(write)
      guard wanted.contains(write.fact) else { return }
      if let known = found[write.fact], !write.isLater(than: known) { return }
      found[write.fact] = write
    }
    let previous = try changeSets.mapValues { try ChangeSet($0, with: cryptography).header.previous }
    func isBehind(_ id: ChangeSetID, _ other: ChangeSetID) -> Bool {
      sequence(first: id) { previous[$0] ?? nil }.contains(other)
    }
    let told = found.values.map { write in
      var told = write
      told.isOverwritten = (all[write.fact.record] ?? []).contains {
        $0.isLater(than: write) && $0.overwrites(write) && isBehind($0.changeSet, write.changeSet)
      }
      if write.isDelete {
        let births = (all[write.fact.record] ?? []).filter { $0.isBirth && $0.generation == write.generation - 1 }
        told.undoes = Set(births.map(\.changeSet))
      }
      return told
    }
    return told.sorted { $0.fact.description < $1.fact.description }
  }

  private func forEachWrite(
    _ keys: [EpochID: EpochKey], _ cryptography: any Cryptography, _ body: (Write) -> Void
  ) throws {
    var units: [Author: UnitValues] = [:]
    for id in order {
      guard let bytes = changeSets[id] else { continue }
      let changeSet = try ChangeSet(bytes, with: cryptography)
      let author = changeSet.header.author
      guard let key = keys[changeSet.header.epoch], let content = changeSet.body(key: key, with: cryptography) else {
        continue
      }
      var unit = changeSet.header.part.index == 0 ? UnitValues(cryptography) : units[author] ?? UnitValues(cryptography)
      let before = unit.tables.count
      _ = unit.add(try ChangeSetBody(content, author: author).content)
      units[author] = unit
      for table in unit.tables[before...] {
        for row in table.rows {
          for write in Self.writes(table, row, id, changeSet.header) { body(write) }
        }
      }
    }
  }

  /// Returns those writes that a later write of the cell or of its record's life beat, whatever happened to the later
  /// write.
  func beaten(
    _ writes: [Write], _ keys: [EpochID: EpochKey], _ cryptography: any Cryptography
  ) throws -> Set<Ledger.Fact> {
    let wanted = Dictionary(grouping: writes, by: \.fact.record)
    var beaten: Set<Ledger.Fact> = []
    try forEachWrite(keys, cryptography) { later in
      for write in wanted[later.fact.record] ?? [] where write.zone == later.zone && later.isLater(than: write) {
        if later.generation > write.generation || write.fact.column == later.fact.column { beaten.insert(write.fact) }
      }
    }
    return beaten
  }

  /// Returns the records that were written, by zone.
  func names(_ keys: [EpochID: EpochKey], _ cryptography: any Cryptography) throws -> [ZoneID: Set<RecordName>] {
    var names: [ZoneID: Set<RecordName>] = [:]
    try forEachWrite(keys, cryptography) { names[$0.zone, default: []].insert($0.fact.record) }
    return names
  }

  /// Returns the authors of the stamps with each time.
  func stamps(_ keys: [EpochID: EpochKey], _ cryptography: any Cryptography) throws -> [HybridTime: Set<Author>] {
    var stamps: [HybridTime: Set<Author>] = [:]
    for bytes in Array(changeSets.values) + Array(lies.values) {
      let changeSet = try ChangeSet(bytes, with: cryptography)
      let author = changeSet.header.author
      guard let key = keys[changeSet.header.epoch], let body = changeSet.body(key: key, with: cryptography),
        case .changes(let tables) = try ChangeSetBody(body, author: author).content
      else { continue }
      for row in tables.flatMap(\.rows) {
        for stamp in [row.stamp] + row.fields.compactMap(\.stamp) where stamp.author == author {
          stamps[stamp.time, default: []].insert(author)
        }
      }
    }
    return stamps
  }

  private static func writes(
    _ table: TableChanges, _ row: RowChange, _ id: ChangeSetID, _ header: ChangeSetHeader
  ) -> [Write] {
    let name = RecordName(table: table.table, key: row.key)
    let state = row.state(columns: table.columns)
    if !row.generation.isAlive {
      return [Write(fact: .delete(name), generation: row.generation, stamp: row.stamp, changeSet: id, header: header)]
    }
    var writes = state.cells.map { column, cell in
      Write(
        fact: .value(Ledger.CellName(record: name, column: column), cell.value), generation: row.generation,
        stamp: cell.stamp, changeSet: id, header: header, isBirth: row.isLife)
    }
    // A birth gives each column that it doesn't name its default.
    for column in AppSchema.table(name.table)?.columns ?? [] where row.isLife && state.cells[column.name] == nil {
      writes.append(
        Write(
          fact: .value(Ledger.CellName(record: name, column: column.name), column.unsent(name)),
          generation: row.generation, stamp: row.stamp, changeSet: id, header: header, isBirth: true, isImplied: true))
    }
    return writes
  }
}

extension Archive.Write {
  var isDelete: Bool { if case .delete = fact { true } else { false } }

  /// Returns whether this state of a record supersedes the other one.
  func overwrites(_ other: Self) -> Bool {
    if generation > other.generation { return true }
    if case .value(let cell, _) = fact, case .value(let before, _) = other.fact { return cell == before }
    return false
  }

  func isLater(than other: Self) -> Bool {
    generation == other.generation ? stamp > other.stamp : generation > other.generation
  }
}

extension Oracle {
  /// Returns whether a change set of the log contains the fact.
  func tells(_ fact: Ledger.Fact) -> Bool {
    switch fact {
    case .value(let cell, let value): sent[cell]?.contains(value) == true
    case .delete(let name): states[name]?.isAlive != true || deleted.contains(name)
    }
  }

  /// Returns whether the merged state is equal or later, by its generation or by the stamp of its value.
  func beats(_ write: Archive.Write) -> Bool {
    switch write.fact {
    case .value(let cell, let value):
      let state = states[cell.record] ?? RecordState()
      guard let merged = state.cells[cell.column] else {
        // The column has its default, which equals the written value, or its record is not alive.
        let column = AppSchema.table(cell.record.table)?.columns.first { $0.name == cell.column }
        return value == .null || value == column?.unsent(cell.record) || state.generation > write.generation
      }
      return state.generation > write.generation
        || state.generation == write.generation && (write.isImplied || merged.stamp > write.stamp)
    case .delete(let name): return states[name]?.generation ?? 0 >= write.generation
    }
  }
}
