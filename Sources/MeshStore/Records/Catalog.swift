import CSQLite
import Foundation
import GRDB
import MeshCore

/// The numbers of the tables, columns and layouts in the file. They are read again when the schema has changed.
final class Catalog {
  private let sql: Connection
  let heads: HeadTable
  private var tables: [Int64: TableForm] = [:]
  private var goneTables: [Int64: TableForm] = [:]
  private var tableNumbers: [FoldedName: Int64] = [:]
  /// For the number of a renamed table here, the number of its former name's table.
  private var formerTables: [Int64: Int64] = [:]
  private var columns: [Int64: ColumnName] = [:]
  private var columnNumbers: [ColumnKey: Int64] = [:]
  private var parts: [Int64: ColumnPart?] = [:]
  private var policies: [Int64: [AccountID?: [Int64: ColumnPolicy]]] = [:]
  private var layouts: [Int64: [Int64]] = [:]
  private var layoutNumbers: [[Int64]: Int64] = [:]
  private var authorsByNumber: [Int64: Author] = [:]
  private var authorNumbers: [Author: Int64] = [:]
  private var book: ZoneBook?
  private var named: Set<Named> = []
  private var namedCounts: [NamingAuthor: Int] = [:]
  /// Whether the file keeps texts as UTF-16.
  private var isUTF16 = false
  /// Whether new numbers may be assigned. Every access sets it when it begins.
  var isWritable = false
  /// Another number after each time that the catalog was forgotten.
  private(set) var generation = 0
  /// The `PRAGMA schema_version` at which the catalog was read, or nil before that.
  private(set) var schemaVersion: Int64?

  init(_ sql: Connection) {
    self.sql = sql
    heads = HeadTable(sql)
  }

  private struct ColumnKey: Hashable {
    var table: Int64
    var name: FoldedName
  }

  private struct NamingAuthor: Hashable {
    let zone: Int64
    let author: Int64
  }

  private struct Named: Hashable {
    let by: NamingAuthor
    let table: Int64
    let column: Int64
  }

  private var names: NameTable { NameTable(sql: sql) }
  private var tableList: TableList { TableList(sql: sql) }

  /// Forgets everything. Call it after a rollback, which may have reverted new numbers, and when tables change.
  func forget() {
    generation &+= 1
    tables = [:]
    goneTables = [:]
    tableNumbers = [:]
    formerTables = [:]
    columns = [:]
    columnNumbers = [:]
    parts = [:]
    policies = [:]
    layouts = [:]
    layoutNumbers = [:]
    authorsByNumber = [:]
    authorNumbers = [:]
    book = nil
    forgetNamed()
    heads.forget()
    schemaVersion = nil
  }

  func forgetZones() { book = nil }

  /// Returns the synchronized table that continues the records of a renamed one.
  func heir(of former: Int64) -> TableForm? {
    guard !formerTables.isEmpty else { return nil }
    var (next, seen) = (former, Set([former]))
    while let heir = formerTables.first(where: { $0.value == next })?.key, seen.insert(heir).inserted {
      if let table = tables[heir] { return table }
      next = heir
    }
    return nil
  }

  // MARK: Names of authors

  /// Returns whether an author is known to have used a name: the column's, or the table's if `column` is 0.
  func hasNamed(_ zone: Int64, _ author: Int64, _ table: Int64, _ column: Int64) -> Bool {
    named.contains(Named(by: NamingAuthor(zone: zone, author: author), table: table, column: column))
  }

  func noteNamed(_ zone: Int64, _ author: Int64, _ table: Int64, _ column: Int64) {
    named.insert(Named(by: NamingAuthor(zone: zone, author: author), table: table, column: column))
  }

  func namedCount(_ zone: Int64, _ author: Int64) throws -> Int {
    if let known = namedCounts[NamingAuthor(zone: zone, author: author)] { return known }
    return try names.namedCount(author, in: zone)
  }

  func setNamedCount(_ count: Int, _ zone: Int64, _ author: Int64) {
    namedCounts[NamingAuthor(zone: zone, author: author)] = count
  }

  func forgetNamed() {
    named = []
    namedCounts = [:]
  }

  func zones() throws -> ZoneBook {
    if let book { return book }
    let read = try ZoneBook(ZoneTable(sql: sql).entries())
    book = read
    return read
  }

  /// Reads the catalog again if the schema has changed. Call it first in every access.
  func refresh(_ db: Database) throws {
    let version = try sql.integer("PRAGMA main.schema_version") ?? 0
    guard version != schemaVersion else { return }
    forget()
    sql.forget()
    for row in try tableList.all() {
      tableNumbers[row.name.folded] = row.id
      if !row.wasHere { goneTables[row.id] = TableForm(unknown: row.id, name: row.name) }
    }
    isUTF16 = try TextEncoding.isUTF16(db)
    let tracked = try TrackedTable.all(db)
    for id in tableNumbers.values {
      guard let table = tracked.first(where: { $0.id == id }) else { continue }
      tables[id] = try form(table)
      if tables[id] == nil { goneTables[id] = TableForm(gone: table) }
    }
    let named = try ColumnPolicies.all(db)
    for table in tables.values {
      guard let named = named[table.schema.name.folded] else { continue }
      for owner in named.owners {
        policies[table.id, default: [:]][owner] = table.columns.reduce(into: [:]) {
          $0[$1.id] = named.policy(of: $1.name, table.schema, in: owner)
        }
      }
    }
    for (table, former) in try tableList.origins() { formerTables[table] = former }
    connectReferences()
    schemaVersion = version
  }

  /// Returns the table with the columns that have numbers. The others were added since capture was brought up to date.
  func knownForm(_ table: TrackedTable) throws -> TableForm? { try form(table, besidesNew: true) }

  private func form(_ table: TrackedTable, besidesNew: Bool = false) throws -> TableForm? {
    guard let schema = table.schema, let form = table.form, let key = schema.keyColumn else { return nil }
    var visible: [TableForm.Column] = []
    for column in schema.columns where column.generated == .no && (!column.isKey || form.keyIsColumn) {
      guard let id = try knownColumn(column.name, of: table.id) else {
        if besidesNew { continue }
        return nil
      }
      visible.append(TableForm.Column(id: id, schema: column))
    }
    return TableForm(
      id: table.id, schema: schema, key: key, form: form, columns: visible, isPrivate: table.isPrivate,
      isUTF16: isUTF16, origins: try names.origins(of: table.id))
  }

  private func connectReferences() {
    for (id, table) in tables {
      for reference in table.schema.foreignKeys where reference.columns.count == 1 {
        guard let column = table.index(named: reference.columns[0]),
          let parentID = tableNumbers[reference.parent.folded], let parent = tables[parentID]
        else { continue }
        let found = Reference(child: id, column: column, parent: parentID, action: reference.onDelete)
        table.references.append(found)
        parent.referrers.append(found)
      }
    }
  }

  private func requireLock() throws {
    if !isWritable { throw PlanObstacle.readOnly }
  }

  // MARK: Tables

  /// Returns the table as this file shows it, or nil if it is not synchronized here.
  func table(_ id: Int64) -> TableForm? { tables[id] }

  /// Returns the table for a note in the pending log. Deletes are sent even if their table has disappeared since or was
  /// never here.
  func table(ofNoted op: Int64, _ id: Int64) -> TableForm? {
    tables[id] ?? (op == PendingSlice.Op.delete ? goneTables[id] : nil)
  }

  var allTables: [TableForm] { tables.values.sorted { $0.id < $1.id } }

  func tableName(_ id: Int64) throws -> String {
    if let table = tables[id] { return table.schema.name }
    return try tableList.name(id) ?? ""
  }

  /// Returns the number of a table's name, or nil if it has none.
  func knownTable(_ name: String) -> Int64? { tableNumbers[name.folded] }

  /// Returns the number of a table's name. Assigns a new one if it has none, which requires a write transaction.
  func tableNumber(_ name: String) throws -> Int64 {
    let folded = name.folded
    if let known = tableNumbers[folded] { return known }
    try requireLock()
    let id = try tableList.insert(name)
    tableNumbers[folded] = id
    goneTables[id] = TableForm(unknown: id, name: name)
    return id
  }

  // MARK: Columns

  /// Returns the number of a column's name, or nil if it has none yet.
  func knownColumn(_ name: String, of table: Int64) throws -> Int64? {
    let key = ColumnKey(table: table, name: name.folded)
    if let known = columnNumbers[key] { return known }
    let number = try names.column(name, of: table)
    columnNumbers[key] = number
    return number
  }

  func columnNumber(_ name: String, of table: Int64) throws -> Int64 {
    if let known = try knownColumn(name, of: table) { return known }
    try requireLock()
    let number = try names.insertColumn(name, of: table)
    columnNumbers[ColumnKey(table: table, name: name.folded)] = number
    return number
  }

  func column(_ id: Int64) throws -> ColumnName {
    if let known = columns[id] { return known }
    let column = ColumnName(try names.name(id) ?? "")
    columns[id] = column
    return column
  }

  /// Returns the part that a column is, or nil if it is none.
  func part(_ id: Int64) throws -> ColumnPart? {
    if let known = parts[id] { return known }
    let name = try column(id)
    // SQLite takes two spellings for one column, and which one a file has depends on what it merged first.
    let part = ColumnPart(name: String(decoding: name.folded, as: UTF8.self)).map {
      ColumnPart(
        $0.policy, author: $0.author,
        column: String(decoding: name.name.utf8.suffix($0.column.utf8.count), as: UTF8.self), place: $0.place)
    }
    parts[id] = .some(part)
    return part
  }

  /// Returns a column's name for people. For a part, it says whose part of which column it is.
  func displayedName(_ id: Int64) throws -> String {
    guard let part = try part(id) else { return try column(id).name }
    let verb =
      switch part.policy {
      case .counter: "counted"
      case .keepBoth: "kept"
      case .greatest, .least, .last: part.policy.name
      }
    return "\(part.column) (\(verb) by \(part.author))"
  }

  /// Returns the part that a column is, and the number of the table's column to which it belongs. Returns nil if it is
  /// no part, or if the table has no such column.
  func part(_ id: Int64, in table: TableForm) throws -> (part: ColumnPart, whole: Int64)? {
    guard table.indexes[id] == nil, let part = try part(id),
      let whole = try knownColumn(part.column, of: table.id), table.indexes[whole] != nil
    else { return nil }
    return (part, whole)
  }

  /// Returns the column that continues a former column of the table, or a part of one. Returns nil if none does.
  func successor(of id: Int64, in table: TableForm) throws -> Int64? {
    if table.successors.isEmpty { return nil }
    guard let part = try part(id) else { return table.successors[id] }
    guard let whole = try knownColumn(part.column, of: table.id), let successor = table.successors[whole],
      table.leftTo[successor] == nil
    else { return nil }
    let column = try column(successor).name
    guard column.utf8.count <= ColumnPolicy.nameLimit else { return nil }
    let renamed = ColumnPart(part.policy, author: part.author, column: column, place: part.place)
    return try columnNumber(renamed.name, of: table.id)
  }

  /// Returns the policies of the table's columns, by their numbers.
  ///
  /// - Parameter owner: The account that owns the zone, or nil if it is this account.
  func policies(of table: TableForm, in owner: AccountID?) -> [Int64: ColumnPolicy] {
    guard let known = policies[table.id] else { return [:] }
    return known[owner] ?? known[nil] ?? [:]
  }

  /// Returns the accounts in whose zones the table's columns have policies. Nil is this account.
  func policyOwners(of table: TableForm) -> [AccountID?] { policies[table.id].map { Array($0.keys) } ?? [] }

  // MARK: Lists of columns

  func layout(_ id: Int64) throws -> [Int64] {
    if let known = layouts[id] { return known }
    let list = try names.layout(id)
    remember(list, as: id)
    return list
  }

  /// Returns the number of a list of columns, for the stamps of records.
  func layoutNumber(_ list: [Int64], of table: Int64) throws -> Int64 {
    // An empty list contains no column that identifies the table, and means the same for every table.
    if let known = layoutNumbers[list] { return known }
    var id = try names.layout(of: list, table)
    if id == nil {
      try requireLock()
      id = try names.insertLayout(list, of: table)
    }
    if layoutNumbers.count >= Self.layoutsKept { layoutNumbers = [:] }
    layoutNumbers[list] = id
    remember(list, as: id ?? 0)
    return id ?? 0
  }

  /// The lists of columns that are kept in memory. Rows of others may have any number of lists.
  private static let layoutsKept = 4_096

  private func remember(_ list: [Int64], as id: Int64) {
    if layouts.count >= Self.layoutsKept { layouts = [:] }
    layouts[id] = list
  }

  // MARK: Authors

  func author(_ number: Int64) throws -> Author {
    if let known = authorsByNumber[number] { return known }
    let author = try names.author(number)
    authorsByNumber[number] = author
    authorNumbers[author] = number
    return author
  }

  /// Returns the number of an author, or nil if it has none yet.
  func knownAuthor(_ author: Author) throws -> Int64? {
    if let known = authorNumbers[author] { return known }
    let number = try names.number(author)
    authorNumbers[author] = number
    return number
  }

  func authorNumber(_ author: Author) throws -> Int64 {
    if let known = try knownAuthor(author) { return known }
    try requireLock()
    let number = try names.insert(author)
    authorNumbers[author] = number
    return number
  }
}

/// A column's name, and the form by which it is sorted and hashed, so that nodes with different spellings agree.
struct ColumnName {
  let name: String
  let folded: [UInt8]

  init(_ name: String) {
    self.name = name
    self.folded = name.folded.bytes
  }

  /// Returns whether one folded name comes before another. A record may have thousands of long names.
  static func areInOrder(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let order = left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return Int32(0) }
        return memcmp(first, second, min(left.count, right.count))
      }
    }
    return order == 0 ? left.count < right.count : order < 0
  }
}
