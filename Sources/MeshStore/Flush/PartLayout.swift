import MeshCore

/// The changes of one part as they are laid out on the wire: by table, with each table's names written once.
struct PartLayout {
  var tables: [TableChanges] = []
  private var places: [Int64: Int] = [:]
  private var columnPlaces: [[Int?]] = []
  private var size = 0
  private var longBytes = 0
  private var elements = 0
  private var isEmpty = true

  /// Takes this many bytes of the room, for a row with this many fields. Returns false if they don't fit. The first
  /// record of a part always fits.
  mutating func take(_ bytes: Int, fields: Int, long: Int, of room: Int, for table: TableForm) -> Bool {
    let isNew = places[table.id] == nil
    let names = isNew ? table.columns.reduce(300) { $0 + $1.name.utf8.count + 3 } : 0
    let more = 1 + fields + (isNew ? table.columns.count : 0)
    let fits =
      size + bytes + names <= room && longBytes + long <= Limits.longValue && elements + more <= Limits.elements
    guard isEmpty || fits else { return false }
    isEmpty = false
    size += bytes + names
    longBytes += long
    elements += more
    return true
  }

  mutating func place(of table: TableForm) -> Int {
    if let known = places[table.id] { return known }
    tables.append(TableChanges(table: table.schema.name, columns: []))
    columnPlaces.append(Array(repeating: nil, count: table.columns.count))
    places[table.id] = tables.count - 1
    return tables.count - 1
  }

  /// Returns the place of a column that this schema may not have.
  mutating func column(_ id: Int64, _ name: String, of table: TableForm, at place: Int) -> Int {
    if let index = table.indexes[id] { return column(index, of: table, at: place) }
    if let known = tables[place].columns.firstIndex(of: name) { return known }
    tables[place].columns.append(name)
    return tables[place].columns.count - 1
  }

  /// Returns the place of the table's column `index` among the columns that the part names.
  mutating func column(_ index: Int, of table: TableForm, at place: Int) -> Int {
    if let known = columnPlaces[place][index] { return known }
    tables[place].columns.append(table.columns[index].name)
    columnPlaces[place][index] = tables[place].columns.count - 1
    return tables[place].columns.count - 1
  }
}
