import MeshCore

/// The merged state that follows from the change sets and the merge rule alone. Every store must agree with it. It
/// verifies again all that the nodes verified: signatures, chains, causal order and the rules.
struct Oracle {
  private(set) var states: [RecordName: RecordState<String>] = [:]
  /// All values that were sent for a cell.
  private(set) var sent: [Ledger.CellName: Set<Value>] = [:]
  /// The assets in edits of live records, by device.
  private(set) var assetEdits: [DeviceID: [Ledger.CellName: Set<Value>]] = [:]
  private(set) var deleted: Set<RecordName> = []
  private(set) var faults: [String] = []
  /// The values that lost here without having been seen by the winning author, if the log belongs to a device.
  private(set) var conflicts: [LostValue: Value] = [:]
  private var authors: [Author: Line] = [:]
  /// The stamps of all births, by record.
  private var lives: [RecordName: Set<Stamp>] = [:]
  private let cryptography: any Cryptography
  private let context: Context

  /// The facts by which a log is judged.
  struct Context {
    var keys: [EpochID: EpochKey]
    var isCertified: @Sendable (DeviceID) -> Bool = { _ in true }
    /// True if records move between zones and keep their stamps.
    var hasMoves = false
    /// Returns the cutoffs of authors of removed devices.
    var limit: @Sendable (Author) -> UInt64? = { _ in nil }
    /// Returns whether a device's change sets had a cutoff for a while. They may be back behind change sets that were
    /// based on them.
    var wasCutInVain: @Sendable (DeviceID) -> Bool = { _ in false }
    /// The latest time that may have been merged, in milliseconds since 1970.
    var latest = Int64.max
    /// The device that has the log. Its own change sets overwrite values that it had seen.
    var device: DeviceID?
    /// Returns whether the stamp belongs to a reverted write that was written again, with its original time.
    var isWrittenAgain: @Sendable (Stamp) -> Bool = { _ in false }
  }

  private struct Line {
    var last: ChangeSet?
    var seen = CausalContext()
    var unit: UnitValues
    /// The time of its last change set before the unit. Within a unit, stamps are in the order of keys.
    var begun = HybridTime.zero
    /// The context of the author before the unit.
    var seenBefore = CausalContext()
    /// The end of its last complete unit.
    var merged: UInt64 = 0
  }

  /// - Parameter log: A whole log in the order of merging.
  init(_ log: [[UInt8]], _ context: Context, _ cryptography: any Cryptography) {
    self.cryptography = cryptography
    self.context = context
    for bytes in log { read(bytes) }
  }

  private mutating func read(_ bytes: [UInt8]) {
    guard let changeSet = try? ChangeSet(bytes, with: cryptography) else {
      return faults.append("a change set of the log cannot be read")
    }
    let header = changeSet.header
    func fault(_ text: String) { faults.append("\(header.author) number \(header.number) \(text)") }
    guard changeSet.isSigned(with: cryptography) else { return fault("is not signed by its author") }
    if !context.isCertified(header.author.device) {
      fault("is of a device that nobody certified")
    }
    if let limit = context.limit(header.author), header.number > limit {
      fault("is above its author's cut at \(limit)")
    }
    guard let key = context.keys[header.epoch], let plaintext = changeSet.body(key: key, with: cryptography),
      let body = try? ChangeSetBody(plaintext, author: header.author)
    else { return fault("cannot be decrypted") }
    var line = authors[header.author] ?? Line(unit: UnitValues(cryptography))
    for text in check(changeSet, body, &line) { fault(text) }
    line.last = changeSet
    if !line.unit.add(body.content) { fault("lacks pieces of a long value") }
    if header.part.isFinal {
      for table in line.unit.tables { merge(table, header, line) }
      line.unit = UnitValues(cryptography)
      line.merged = header.number
    }
    authors[header.author] = line
  }

  /// Checks that numbers have no gaps, change sets form a chain, times and stamps only grow, and no change set comes
  /// before its causal past.
  private func check(_ changeSet: ChangeSet, _ body: ChangeSetBody, _ line: inout Line) -> [String] {
    var faults: [String] = []
    let (header, last) = (changeSet.header, line.last?.header)
    if header.number != (last?.number ?? 0) + 1 { faults.append("does not continue") }
    if header.time.milliseconds > context.latest { faults.append("was merged before its time") }
    if header.previous != line.last?.id { faults.append("does not name the one before") }
    if let last, header.time <= last.time { faults.append("is not later than the one before") }
    if header.part.index == 0 { line.seenBefore = line.seen }
    do {
      try line.seen.advance(by: body.context)
    } catch {
      faults.append("has a causal past that goes back")
    }
    for (author, seen) in line.seen.entries where author != header.author && !context.wasCutInVain(author.device) {
      if min(seen.number, context.limit(author) ?? .max) > authors[author]?.merged ?? 0 {
        faults.append("was merged before what its author had seen")
      }
    }
    if let rule = Rules.broken(by: body, header) { faults.append(rule) }
    if header.part.index == 0 { line.begun = last?.time ?? .zero }
    let latest = max(line.begun, line.seen.entries.values.map(\.time).max() ?? .zero)
    if case .changes(let tables) = body.content {
      // Imported rows have import times, and a row that moved keeps its stamps.
      let rows = tables.flatMap { table in
        table.rows.filter { (!context.hasMoves || !$0.isLife) && !isRenaming($0, in: table.table) }
      }
      let early = rows.map(\.stamp).filter {
        $0.author == header.author && $0.time <= latest && !$0.time.isImport
      }
      if !early.allSatisfy(context.isWrittenAgain) {
        let names = tables.flatMap { table in
          table.rows.filter { early.contains($0.stamp) }.map { "\(table.table) \($0.key) \($0.stamp.time)" }
        }
        faults.append(
          "has a stamp that is not later than what its author had seen at \(latest): \(names.joined(separator: ", "))")
      }
    }
    return faults
  }

  /// Returns whether a record is repeated with a life that it has or had. It continues under a column's new name, with
  /// the stamps of the old one.
  private func isRenaming(_ row: RowChange, in table: String) -> Bool {
    row.isLife && lives[RecordName(table: table.asciiLowercased, key: row.key)]?.contains(row.stamp) == true
  }

  private mutating func merge(_ table: TableChanges, _ header: ChangeSetHeader, _ line: Line) {
    for row in table.rows {
      let name = RecordName(table: table.table, key: row.key)
      let state = row.state(columns: table.columns)
      if !row.generation.isAlive { deleted.insert(name) }
      for (column, cell) in state.cells {
        sent[Ledger.CellName(record: name, column: column), default: []].insert(cell.value)
        guard !row.isLife, case .asset = cell.value else { continue }
        let edited = Ledger.CellName(record: name, column: column)
        assetEdits[header.author.device, default: [:]][edited, default: []].insert(cell.value)
      }
      if row.isLife, row.generation.isAlive {
        for column in AppSchema.table(name.table)?.columns ?? [] where state.cells[column.name] == nil {
          sent[Ledger.CellName(record: name, column: column.name), default: []].insert(column.unsent(name))
        }
      }
      if row.isLife, row.generation.isAlive { lives[name, default: []].insert(row.stamp) }
      let comesAgain = comesAgain(row, states[name])
      let losses = states[name, default: RecordState()].merge(state)
      guard let device = context.device, header.author.device != device else { continue }
      for loss in losses where isConflict(loss, name, header, line, comesAgain) {
        conflicts[LostValue(record: name, column: loss.column, stamp: loss.loser.stamp)] = loss.loser.value
      }
    }
  }

  private func isConflict(
    _ loss: RecordState<String>.Loss, _ name: RecordName, _ header: ChangeSetHeader, _ line: Line, _ comesAgain: Bool
  ) -> Bool {
    if let state = states[name], state.isAlive, state.cells[loss.column]?.value == loss.loser.value { return false }
    // An author has also counted the increments that a copy of its file left to it.
    if states[name]?.isAlive == true, let part = ColumnPart(name: loss.column), part.policy == .counter,
      loss.winner?.author == part.author
    {
      return false
    }
    // A repeated value was judged by the state that its author knew when it wrote the value.
    if comesAgain, let winner = loss.winner, isEarlier(loss.wasLocal ? winner : loss.loser.stamp, header, line) {
      let isForeignImport = loss.loser.stamp.time.isImport && !loss.wasLocal
      let known = winner.author == header.author ? line.seenBefore : authors[winner.author]?.seen ?? CausalContext()
      return !isForeignImport && loss.loser.stamp.author != winner.author && !known.hasSeen(loss.loser.stamp)
    }
    // If an imported value arrives and loses, only its author shows something else.
    guard loss.wasLocal else { return !loss.loser.stamp.time.isImport }
    return loss.loser.stamp.author != header.author && !line.seen.hasSeen(loss.loser.stamp)
  }

  /// Returns whether the row is a birth that may continue under a new name of its columns.
  private func comesAgain(_ row: RowChange, _ known: RecordState<String>?) -> Bool {
    guard row.isLife, row.generation.isAlive, let known, row.generation <= known.generation else { return false }
    return row.generation < known.generation || row.stamp == known.life
  }

  private func isEarlier(_ stamp: Stamp, _ header: ChangeSetHeader, _ line: Line) -> Bool {
    stamp.author != header.author || stamp.time.noted <= line.begun
  }
}

/// A value of a conflict, which must be kept.
struct LostValue: Hashable {
  let record: RecordName
  let column: String
  let stamp: Stamp
}

extension Oracle {
  /// The digest of the merged state, computed from the records.
  var digest: ZoneDigest {
    var count: UInt64 = 0
    var (low, high): (UInt64, UInt64) = (0, 0)
    for (name, record) in states where record.isAlive {
      let hash = record.canonicalBytes(name).withUnsafeBytes { cryptography.hash128($0) }
      count += 1
      low &+= hash.0
      high &+= hash.1
    }
    return ZoneDigest(records: count, low: low, high: high)
  }

  /// The hashes of the live records, as a store keeps them.
  var hashes: [RecordName: [UInt8]] {
    var hashes: [RecordName: [UInt8]] = [:]
    for (name, record) in states where record.isAlive {
      let (low, high) = record.canonicalBytes(name).withUnsafeBytes { cryptography.hash128($0) }
      hashes[name] = ZoneDigest(records: 1, low: low, high: high).hash
    }
    return hashes
  }

  /// Returns committed writes that are in no change set of the log, in order.
  func lost(_ ledger: Ledger) -> [Ledger.Fact] {
    ledger.facts.filter { !tells($0) && !tellsUnderOtherName($0) }.sorted { $0.description < $1.description }
  }

  /// Returns whether a value that was sent before a column was renamed is in the log under the other name.
  private func tellsUnderOtherName(_ fact: Ledger.Fact) -> Bool {
    guard case .value(let cell, let value) = fact else { return false }
    let columns = AppSchema.table(cell.record.table)?.columns ?? []
    return columns.contains { column in
      guard let former = column.formerly, column.name == cell.column || former == cell.column else { return false }
      let other = column.name == cell.column ? former : column.name
      return tells(.value(Ledger.CellName(record: cell.record, column: other), value))
    }
  }

  /// Returns the merged value, or nil if there is none.
  func value(_ name: RecordName, _ column: String) -> Value? { states[name]?.cells[column]?.value }

  /// Returns the differences between tables and the merged state.
  ///
  /// - Parameter lacking: The assets that are not complete here. Rows that wait for them show other values.
  func differences(_ contents: Contents, held: [RecordName: String], lacking: Set<Asset> = []) -> [String] {
    var differences: [String] = []
    for (name, row) in contents.sorted(by: { $0.key < $1.key }) {
      guard let state = states[name], state.isAlive else {
        differences.append("\(name) is shown and does not live")
        continue
      }
      for column in AppSchema.table(name.table)?.columns ?? [] {
        // The column is missing if it is yet to be added.
        guard let shown = row[column.name] ?? (column.mayLack ? nil : .null) else { continue }
        let merged = value(of: column, name, state)
        if case .asset(let asset) = merged, lacking.contains(asset) { continue }
        if shown != merged, !isSetNull(column, merged, shown, contents) {
          differences.append("\(name).\(column.name) shows \(shown.shown) and is \(merged.shown)")
        }
      }
    }
    for (name, state) in states.sorted(by: { $0.key < $1.key }) where state.isAlive && contents[name] == nil {
      if held[name] == nil {
        differences.append("\(name) lives and is neither shown nor held")
      } else if AppSchema.table(name.table) == nil {
        guard held[name] != "unknown-table" else { continue }
        differences.append("\(name) is held (\(held[name] ?? "")) although no app has its table")
      } else if !lacksParent(name, state, contents) {
        differences.append("\(name) is held (\(held[name] ?? "")) although its parents are here")
      }
    }
    return differences
  }

  /// Returns the value that a row shows of the merged cells: the column's own, or what its parts make of it.
  func value(of column: AppSchema.Column, _ name: RecordName, _ state: RecordState<String>) -> Value {
    let own = state.cells[column.name]
    var fold = ColumnFold(base: own?.value ?? column.unsent(name), since: own?.stamp)
    for (other, cell) in state.cells {
      guard let part = ColumnPart(name: other), part.column == column.name else { continue }
      fold.add(part.policy, cell.stamp, cell.value)
    }
    return fold.parts.isEmpty ? fold.base : fold.shown ?? fold.base
  }

  private func isSetNull(_ column: AppSchema.Column, _ merged: Value, _ shown: Value, _ contents: Contents) -> Bool {
    guard let reference = column.reference, !reference.cascades, shown == .null else { return false }
    return contents[RecordName(table: reference.parent, key: merged)] == nil
  }

  private func lacksParent(_ name: RecordName, _ state: RecordState<String>, _ contents: Contents) -> Bool {
    (AppSchema.table(name.table)?.columns ?? []).contains { column in
      guard let reference = column.reference else { return false }
      guard let value = state.cells[column.name]?.value, value != .null else {
        // The change set of its birth was reverted, and those of its edits were not. The row names no parent then.
        return reference.cascades
      }
      return contents[RecordName(table: reference.parent, key: value)] == nil
    }
  }
}

extension ZoneDigest {
  /// Computes the digest from the sums of the halves of the live records' hashes.
  init(records: UInt64, low: UInt64, high: UInt64) {
    let bytes = [low, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    self.init(records: records, hash: bytes)
  }
}
