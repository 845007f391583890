import MeshCore

extension SchemaDescription {
  /// The `CREATE TABLE` that makes the table. Throws where the description breaks a rule, so that no text gets here
  /// that is more than a name, a type or a literal.
  func createTable() throws(DecodingError) -> String {
    try check()
    let lines = columns.indices.map { "  \(definition($0))" }
    let options = [isStrict ? "STRICT" : nil, isWithoutRowid ? "WITHOUT ROWID" : nil].compactMap { $0 }
    return "CREATE TABLE main.\(name.quotedName) (\n\(lines.joined(separator: ",\n"))\n)"
      + (options.isEmpty ? "" : " " + options.joined(separator: ", "))
  }

  /// The `ALTER TABLE` that adds the column `index` to a table which lacks it.
  ///
  /// SQLite cannot add a `NOT NULL` column without a default to a table with rows: there the column may be NULL.
  func addColumn(_ index: Int) throws(DecodingError) -> String {
    try check()
    guard columns.indices.contains(index), index != key else { throw .invalid("a column to add is not the key") }
    var relaxed = self
    if columns[index].defaultValue ?? .null == .null { relaxed.columns[index].notNull = false }
    return "ALTER TABLE main.\(name.quotedName) ADD COLUMN \(relaxed.definition(index))"
  }

  /// A column as `CREATE TABLE` has it.
  func definition(_ index: Int) -> String {
    let column = columns[index]
    var parts = [column.name.quotedName]
    if !column.declaredType.isEmpty { parts.append(column.declaredType) }
    if index == key { parts.append(isAutoincrement ? "PRIMARY KEY AUTOINCREMENT" : "PRIMARY KEY") }
    if column.notNull || index == key { parts.append("NOT NULL") }
    if column.collation != .binary { parts.append("COLLATE \(column.collation.sql)") }
    if let value = column.defaultValue { parts.append("DEFAULT \(value.literal)") }
    for reference in foreignKeys where reference.column == index {
      // Without a column the reference is to the parent's primary key.
      parts.append("REFERENCES \(reference.parent.quotedName)")
      if reference.onDelete != .noAction { parts.append("ON DELETE \(reference.onDelete.sql)") }
      if reference.onUpdate != .noAction { parts.append("ON UPDATE \(reference.onUpdate.sql)") }
    }
    return parts.joined(separator: " ")
  }
}

extension Value {
  /// As a literal of SQL. Text is UTF-8 without NULs, which `SchemaDescription.check` has seen to.
  fileprivate var literal: String {
    switch self {
    case .null: return "NULL"
    case .integer(let integer): return "\(integer)"
    case .real(let bits):
      let real = Double(bitPattern: bits)
      // No literal is infinite, but one that is too large becomes so.
      return real.isInfinite ? (real < 0 ? "-9e999" : "9e999") : "\(real)"
    case .text(let bytes): return String(decoding: bytes, as: UTF8.self).quotedText
    case .blob(let bytes):
      return "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
    // No default is one.
    case .asset: return "NULL"
    }
  }
}
