import MeshCore
import MeshStore

/// The rows that a node's tables must show of several zones, derived from their merged states by the rules alone. If
/// two zones have a record for one row, the first zone whose references are valid is shown. Nothing is shown under a
/// row of another zone.
struct ShownRows {
  /// A zone that the node is a member of.
  struct Zone {
    let known: KnownZone
    let oracle: Oracle
    /// 0 for the account's private zone, 1 for its shares, 2 for shares of others. The lower rank comes first, then the
    /// lower id.
    let rank: Int

    /// Returns whether the zone shows the record. A share shows its root, and the records that belong to it.
    func has(_ name: RecordName) -> Bool {
      guard let root = known.root else { return true }
      if name.table == root.table { return name == root }
      var table = AppSchema.table(name.table)
      while let parent = table?.parent, parent != table?.name {
        if parent == root.table { return true }
        table = AppSchema.table(parent)
      }
      return false
    }
  }

  let zones: [Zone]
  /// The zone whose record each row shows, as its place in `zones`.
  private(set) var places: [RecordName: Int] = [:]

  init(_ zones: [Zone]) {
    self.zones = zones.sorted { ($0.rank, $0.known.id) < ($1.rank, $1.known.id) }
    // Parents come before children. Records that refer to their own table are never withdrawn.
    for table in ["list", "tag", "leg", "stock", "tally", "folder", "item", "step"].compactMap(AppSchema.table) {
      show(table)
    }
  }

  private mutating func show(_ table: AppSchema.Table) {
    for (place, zone) in zones.enumerated() {
      for (name, state) in zone.oracle.states where name.table == table.name && state.isAlive && places[name] == nil {
        if zone.has(name), stands(table, state, place) { places[name] = place }
      }
    }
  }

  private func stands(_ table: AppSchema.Table, _ state: RecordState<String>, _ place: Int) -> Bool {
    table.columns.allSatisfy { column in
      guard let reference = column.reference, reference.cascades else { return true }
      guard let value = state.cells[column.name]?.value, value != .null else { return false }
      return places[RecordName(table: reference.parent, key: value)] == place
    }
  }

  /// The rows.
  var contents: Contents { places.keys.reduce(into: [:]) { $0[$1] = row($1) } }

  /// - Parameter shown: The row in the table. It has the columns that the node's app has now.
  private func row(_ name: RecordName, as shown: [String: Value]? = nil) -> [String: Value]? {
    guard let table = AppSchema.table(name.table), let place = places[name],
      let state = zones[place].oracle.states[name]
    else { return nil }
    var row: [String: Value] = [:]
    for column in table.columns where shown.map({ $0[column.name] != nil }) ?? !column.isAdded {
      let value = zones[place].oracle.value(of: column, name, state)
      let isDangling = column.reference.map { reference in
        value != .null && places[RecordName(table: reference.parent, key: value)] != place
      }
      // An added reference is no foreign key at the end. It may have been one before.
      let isReset = isDangling == true && (!column.isAdded || shown?[column.name] == .null)
      row[column.name] = isReset ? .null : value
    }
    return row
  }

  /// Returns the differences between tables and these rows.
  ///
  /// - Parameters:
  ///   - excused: The records that only this node shows.
  ///   - own: The cells that have no merged value, and may have one here.
  ///   - lacking: The cells whose merged BLOBs are not here. They show other values.
  ///   - names: Returns the names that a BLOB may have in change sets.
  func differences(
    _ contents: Contents, besides excused: Set<RecordName>, _ own: Set<Ledger.CellName>, lacking: Set<Ledger.CellName>,
    names: (Value) -> Set<Value>
  ) -> [String] {
    func shown(_ row: [String: Value]?) -> String {
      row.map { $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }.joined(separator: " ") } ?? "none"
    }
    return Set(contents.keys).union(places.keys).subtracting(excused).sorted().compactMap { name in
      let expected = row(name, as: contents[name])
      let isShown = contents[name]?.allSatisfy { column, value in
        guard let merged = expected?[column] else { return false }
        if own.contains(Ledger.CellName(record: name, column: column)) { return true }
        guard case .asset = merged else { return merged == value }
        return lacking.contains(Ledger.CellName(record: name, column: column)) || names(value).contains(merged)
      }
      guard isShown.map({ !$0 || expected?.count != contents[name]?.count }) ?? (expected != nil) else { return nil }
      let zone = places[name].map { " of \(zones[$0].known.name)" } ?? ""
      return "\(name) shows \(shown(contents[name])) and is \(shown(expected))\(zone)"
    }
  }

  /// Returns the reasons for which a live record of a zone may be hidden, with the record that it waits for. If several
  /// hold, the store gives the one that it found first.
  func reasons(_ name: RecordName, in zone: ZoneID) -> [HeldReason: RecordName?] {
    guard let place = zones.firstIndex(where: { $0.known.id == zone }), let state = zones[place].oracle.states[name]
    else { return [:] }
    guard let table = AppSchema.table(name.table) else { return [.unknownTable: nil, .untracked: nil] }
    var reasons: [HeldReason: RecordName?] = [:]
    if let other = places[name], other != place { reasons[.slotTaken] = .some(nil) }
    guard zones[place].has(name) else { return reasons.merging([.outsideShare: nil]) { first, _ in first } }
    for column in table.columns {
      guard let reference = column.reference, reference.cascades else { continue }
      guard let value = state.cells[column.name]?.value, value != .null else {
        reasons[.constraint] = .some(nil)
        continue
      }
      let parent = RecordName(table: reference.parent, key: value)
      if places[parent] == place { continue }
      let isElsewhere = zones.indices.contains { $0 != place && zones[$0].oracle.states[parent]?.isAlive == true }
      let isDeleted = zones[place].oracle.states[parent]?.isAlive == false
      reasons[isElsewhere ? .parentElsewhere : isDeleted ? .parentDeleted : .missingParent] = .some(parent)
    }
    return reasons
  }

  /// Returns the records that are alive in a zone and not shown.
  func hidden(in zone: ZoneID) -> [RecordName] {
    guard let place = zones.firstIndex(where: { $0.known.id == zone }) else { return [] }
    return zones[place].oracle.states.filter { $0.value.isAlive && places[$0.key] != place }.keys.sorted()
  }
}

extension RecordName {
  init(_ held: HeldEntry) { self.init(table: held.table.asciiLowercased, key: held.key) }
  init(_ awaited: HeldEntry.Awaited) { self.init(table: awaited.table.asciiLowercased, key: awaited.key) }
}
