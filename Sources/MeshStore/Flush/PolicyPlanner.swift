import MeshCore

/// The parts of a record's columns that an edit changes.
struct ChangedParts {
  struct Cell {
    let column: Int64
    let name: String
    let time: HybridTime
    let value: Value
  }

  /// The author's parts.
  var cells: [Cell] = []
  /// The time of the last write that became parts, which may be later than all of them.
  var written = HybridTime.zero
  /// The columns whose row shows what their parts make of their own value.
  var folded: [Int64: (base: Value, shown: Value)] = [:]

  /// The greatest number of bytes that the parts take in a change set.
  var encodedBound: Int { cells.reduce(0) { $0 + $1.name.utf8.count + $1.value.encodedBound + 24 } }
}

/// Turns writes to columns that have a policy into the author's parts.
struct PolicyPlanner {
  typealias State = ZoneRecords.State

  let planner: FlushPlanner

  private var transaction: Transaction { planner.transaction }

  /// Takes the writes that become parts out of `edited`. A write that remains is an assignment of the column's own
  /// value. `row` then has the value that, with the known parts, makes what the program wrote.
  func takeParts(
    _ entry: PendingSlice.Entry, _ old: StoredRecord, _ row: inout [Value], _ edited: inout [Int: HybridTime]
  ) throws -> ChangedParts {
    var changed = ChangedParts()
    let catalog = transaction.catalog
    let policies = catalog.policies(of: entry.table, in: try planner.owner)
    guard old.held == nil, !policies.isEmpty || !old.extra.isEmpty else { return changed }
    let sums = try increments(entry.table, old)
    for (index, time) in edited.sorted(by: { $0.key < $1.key }) {
      let column = entry.table.columns[index].id
      let increments = sums[column]
      guard policies[column] != nil || increments != nil else { continue }
      let shown = row[index]
      var new = shown
      if policies[column] == .keepBoth, !time.isImport, Self.isKept(new) {
        // The write is an assignment as well.
        changed.cells.append(try keptCell(entry.table, index, new, at: time, old))
      } else if let policy = policies[column], let before = before(column, entry, old), !time.isImport {
        let name = ColumnPart(policy, author: planner.writer.author, column: entry.table.columns[index].name).name
        let own = try catalog.columnNumber(name, of: entry.table.id)
        if policy.isComparison {
          let kept = kept(policy, entry.written(column, new, over: before.shown), over: before.shown)
          if kept.value != new { planner.plan.reshown.append(entry.ref) }
          guard kept.isAssigned else {
            if kept.value != before.shown {
              changed.cells.append(ChangedParts.Cell(column: own, name: name, time: time, value: kept.value))
            }
            changed.folded[column] = (before.base, kept.value)
            edited[index] = nil
            continue
          }
          if kept.value != new {
            new = kept.value
            row[index] = new
            changed.folded[column] = (new, shown)
          }
        } else if let parts = try counted(
          entry, index, before, new, at: time, increments ?? 0,
          { part in try old.extra[part].map { try (planner.stamp(old.stamps.stamp(of: part)), $0) } })
        {
          changed.cells += parts
          changed.written = max(changed.written, time)
          changed.folded[column] = (before.base, new)
          edited[index] = nil
          continue
        }
      }
      guard let increments else { continue }
      switch new {
      case .blob, .asset: continue
      case .integer(let integer):
        row[index] = Self.own(new, increments)
        // With these increments, no value of the column's own makes what the program wrote.
        if Int64(exactly: Int128(integer) - increments) == nil { planner.plan.reshown.append(entry.ref) }
      case .null, .real, .text: break
      }
      changed.folded[column] = (row[index], shown)
    }
    return changed
  }

  /// Adds a program's write to a record's cells, by the column's policy.
  ///
  /// - Parameter shown: The value that the row showed before, or nil if that is unknown.
  func write(
    _ entry: PendingSlice.Entry, _ index: Int, _ new: Value, at time: HybridTime, over shown: Value?,
    _ cells: inout [Int64: State.Cell]
  ) throws {
    var new = new
    let (column, stamp) = (entry.table.columns[index], planner.global(time))
    let increments = try increments(column.id, entry.table, cells)
    if let policy = transaction.catalog.policies(of: entry.table, in: try planner.owner)[column.id], !time.isImport {
      if policy == .keepBoth {
        if Self.isKept(new) {
          cells[try keptPart(entry.table, index) { cells[$0]?.stamp.time }.column] = State.Cell(
            stamp: stamp, value: new)
        }
      } else if let shown {
        let name = ColumnPart(policy, author: planner.writer.author, column: column.name).name
        let own = try transaction.catalog.columnNumber(name, of: entry.table.id)
        if policy.isComparison {
          let kept = kept(policy, entry.written(column.id, new, over: shown), over: shown)
          guard kept.isAssigned else {
            if kept.value != shown { cells[own] = State.Cell(stamp: stamp, value: kept.value) }
            return
          }
          new = kept.value
        } else {
          let base = cells[column.id]?.value ?? entry.table.defaultValue(index)
          let known = { (part: Int64) in cells[part].map { ($0.stamp, $0.value) } }
          if let parts = try counted(entry, index, (base, shown), new, at: time, increments, known) {
            for part in parts { cells[part.column] = State.Cell(stamp: planner.global(part.time), value: part.value) }
            return
          }
        }
      }
    }
    cells[column.id] = State.Cell(stamp: stamp, value: try planner.value(entry, index, Self.own(new, increments)))
  }

  /// Returns whether writes to a column follow a policy.
  func hasPolicy(_ column: Int64, _ table: TableForm, _ cells: [Int64: State.Cell]) throws -> Bool {
    try transaction.catalog.policies(of: table, in: planner.owner)[column] != nil || hasParts(column, table, cells)
  }

  /// Returns whether a write to a column adds to what others write at the same time, so that none of them loses.
  func addsUp(_ column: Int64, _ table: TableForm, _ cells: [Int64: State.Cell]) throws -> Bool {
    let policy = try transaction.catalog.policies(of: table, in: planner.owner)[column]
    return try policy == .counter || policy?.isComparison == true || hasParts(column, table, cells)
  }

  /// Returns whether the values that a row shows in a column depend on parts.
  func hasParts(_ column: Int64, _ table: TableForm, _ cells: [Int64: State.Cell]) throws -> Bool {
    try cells.keys.contains { number in
      try transaction.catalog.part(number, in: table).map { $0.whole == column && $0.part.policy != .keepBoth } ?? false
    }
  }

  /// Returns the sum of the increments of a column.
  func increments(_ column: Int64, _ table: TableForm, _ cells: [Int64: State.Cell]) throws -> Int128 {
    try cells.reduce(0) { sum, cell in
      guard case .integer(let value) = cell.value.value,
        let part = try transaction.catalog.part(cell.key, in: table), part.whole == column, part.part.policy == .counter
      else { return sum }
      return sum + Int128(value)
    }
  }

  /// Returns the own value of a column that shows a value with these increments.
  static func own(_ shown: Value, _ increments: Int128) -> Value {
    guard case .integer(let integer) = shown else { return shown }
    return .integer(Int64(clamping: Int128(integer) - increments))
  }

  /// Returns the parts of a new record whose columns were written after the row was inserted. `row` then has the values
  /// that were inserted.
  func firstParts(
    _ entry: PendingSlice.Entry, _ row: inout [Value], at time: HybridTime
  ) throws -> ChangedParts {
    var changed = ChangedParts()
    guard entry.hasFormerValues else { return changed }
    for (column, policy) in transaction.catalog.policies(of: entry.table, in: try planner.owner).sorted(by: {
      $0.key < $1.key
    }) {
      guard let index = entry.table.indexes[column], let was = entry.before(column) else { continue }
      let new = row[index]
      if policy.isComparison {
        let kept = kept(policy, entry.written(column, new, over: was), over: was).value
        if kept == new { continue }
        changed.folded[column] = (kept, new)
        row[index] = kept
        planner.plan.reshown.append(entry.ref)
      } else if policy == .counter,
        let parts = try counted(entry, index, (was, was), new, at: time, 0, { _ in nil }), !parts.isEmpty
      {
        changed.cells += parts
        changed.folded[column] = (was, new)
        row[index] = was
      }
    }
    return changed
  }

  /// Returns the column's own value and the one that its row showed before the write, or nil if that is unknown.
  private func before(
    _ column: Int64, _ entry: PendingSlice.Entry, _ old: StoredRecord
  ) -> (base: Value, shown: Value)? {
    if let base = old.extra[column] {
      guard let shown = old.shown[column], shown.asset == nil, base.asset == nil else { return nil }
      return (base, shown)
    }
    guard old.shown[column] == nil, let was = entry.before(column) else { return nil }
    return (was, was)
  }

  /// Returns the counter parts that change with a write, or nil if the write is an assignment.
  ///
  /// - Parameter known: Returns the stamp and the value of a part, or nil if there is none.
  private func counted(
    _ entry: PendingSlice.Entry, _ index: Int, _ before: (base: Value, shown: Value), _ new: Value,
    at time: HybridTime, _ increments: Int128, _ known: (Int64) throws -> (stamp: Stamp, value: Value)?
  ) throws -> [ChangedParts.Cell]? {
    guard case .integer(let base) = before.base, case .integer(let shown) = before.shown,
      case .integer(let integer) = new
    else { return nil }
    // A row shows at most 64 bits of a sum. The difference is from the sum itself.
    let total = Int128(base) + increments
    var difference = Int128(integer) - (Int64(clamping: total) == shown ? total : Int128(shown))
    var cells: [ChangedParts.Cell] = []
    func add(_ amount: Int128, to author: Author, at time: (Stamp?) -> HybridTime) throws -> Bool {
      let name = ColumnPart(.counter, author: author, column: entry.table.columns[index].name).name
      let column = try transaction.catalog.columnNumber(name, of: entry.table.id)
      let part = try known(column)
      let former: Int128 = if case .integer(let value) = part?.value { Int128(value) } else { 0 }
      guard let sum = Int64(exactly: former + amount) else { return false }
      let value = Value.integer(sum)
      if value != part?.value ?? .integer(0) {
        cells.append(ChangedParts.Cell(column: column, name: name, time: time(part?.stamp), value: value))
      }
      return true
    }
    for (author, amount) in try left(entry, entry.table.columns[index].id, new) {
      if try add(amount, to: author, at: leastTime) { difference -= amount }
    }
    return try add(difference, to: planner.writer.author, at: { _ in time }) ? cells : nil
  }

  /// Returns what programs added to a column before an instance ended whose file was copied, by the author who may have
  /// sent it. If that author sends it as well, its part is later than the one sent here, and has the same increments.
  private func left(
    _ entry: PendingSlice.Entry, _ column: Int64, _ last: Value
  ) throws -> [(author: Author, amount: Int128)] {
    let ends = try planner.formerInstances.get()
    guard !ends.isEmpty, let increments = entry.increments(column, last) else { return [] }
    var amounts: [Int64: Int128] = [:]
    for increment in increments {
      let end = ends.first { increment.note < $0.id && increment.wall <= $0.sentThrough }
      if let end { amounts[end.author, default: 0] += increment.difference }
    }
    return try amounts.sorted { $0.key < $1.key }.map { (try transaction.catalog.author($0.key), $0.value) }
  }

  /// Returns the least time with which a part that is written here replaces the one with a stamp. Every part that its
  /// own author sends later has a later stamp.
  private func leastTime(after stamp: Stamp?) -> HybridTime {
    guard let stamp else { return HybridTime.lastImport.next }
    return stamp.author < planner.writer.author ? stamp.time : stamp.time.next
  }

  /// Returns the value that remains if programs write these values one after the other, and whether one of them was an
  /// assignment. A row has the last one, which may be beaten by one before it.
  private func kept(
    _ policy: ColumnPolicy, _ written: [Value], over shown: Value
  ) -> (value: Value, isAssigned: Bool) {
    var kept = (value: shown, isAssigned: false)
    for value in written {
      switch value {
      case .null, .blob, .asset: kept = (value, true)
      case .text(let bytes) where bytes.count > Limits.inlineBlob: kept = (value, true)
      case .integer, .real, .text: if policy.beats(value, kept.value) { kept.value = value }
      }
    }
    return kept
  }

  /// Returns a written value as the part that keeps it.
  private func keptCell(
    _ table: TableForm, _ index: Int, _ value: Value, at time: HybridTime, _ old: StoredRecord
  ) throws -> ChangedParts.Cell {
    let (own, name) = try keptPart(table, index) { own in old.extra[own].map { _ in old.stamps.stamp(of: own).time } }
    return ChangedParts.Cell(column: own, name: name, time: time, value: value)
  }

  /// Returns the author's part that keeps the next value of a column: an unused one, or else the oldest.
  ///
  /// - Parameter time: Returns the time of a part, or nil if it is unused.
  private func keptPart(
    _ table: TableForm, _ index: Int, _ time: (Int64) -> HybridTime?
  ) throws -> (column: Int64, name: String) {
    func part(_ place: Int) throws -> (column: Int64, name: String) {
      let part = ColumnPart(.keepBoth, author: planner.writer.author, column: table.columns[index].name, place: place)
      return (try transaction.catalog.columnNumber(part.name, of: table.id), part.name)
    }
    var oldest = try part(0)
    guard var earliest = time(oldest.column) else { return oldest }
    for place in 1..<ColumnPart.keptValues {
      let next = try part(place)
      guard let time = time(next.column) else { return next }
      if time < earliest { (oldest, earliest) = (next, time) }
    }
    return oldest
  }

  /// Returns whether a value becomes one of its author's kept ones. BLOBs and long texts don't.
  private static func isKept(_ value: Value) -> Bool {
    switch value {
    case .blob, .asset: false
    case .text(let bytes): bytes.count <= Limits.inlineBlob
    case .null, .integer, .real: true
    }
  }

  /// Returns the sums of the increments of the columns whose parts change what a row shows.
  private func increments(_ table: TableForm, _ old: StoredRecord) throws -> [Int64: Int128] {
    var sums: [Int64: Int128] = [:]
    for (other, value) in old.extra {
      guard let (part, whole) = try transaction.catalog.part(other, in: table), part.policy != .keepBoth else {
        continue
      }
      sums[whole, default: 0] += 0
      if part.policy == .counter, case .integer(let own) = value { sums[whole, default: 0] += Int128(own) }
    }
    return sums
  }
}
