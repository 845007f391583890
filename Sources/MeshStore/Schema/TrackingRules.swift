import GRDB
import MeshCore

/// The rules that decide which tables can be synchronized.
enum TrackingRules {
  /// One reason why a table can't be synchronized.
  struct Violation: Hashable, Sendable, CustomStringConvertible {
    var table: String
    /// The rule, and the way out.
    var text: String
    var description: String { "\(table): \(text)" }
    /// The message for a table that is synchronized already.
    var notice: String {
      "The synchronized table \(table) has changed: \(text)."
    }
  }

  /// Throws one `StoreError` (`schemaRefused`) that lists every violation of every table.
  static func validate(
    _ db: Database, tables: [String], private privateTables: [String] = [], shareable shareableTables: [String] = [],
    integerKeys: Bool = false
  ) throws {
    let stillPrivate = try shareableTables.filter {
      try TableList.exists(db) && TrackedTable.read(db, name: $0)?.isPrivate == true
    }
    let found =
      try violations(db, tables: tables + shareableTables, private: privateTables, integerKeys: integerKeys)
      + stillPrivate.map { Violation(table: $0, text: stayPrivate) }
    guard !found.isEmpty else { return }
    throw StoreError(.schemaRefused, reasons: found.map(\.description))
  }

  /// Returns all violations, in the order of the given tables. Returns none if all of them can be synchronized together
  /// with the tables that are already.
  static func violations(
    _ db: Database, tables: [String], private privateTables: [String] = [], integerKeys: Bool = false
  ) throws -> [Violation] {
    let names = tables + privateTables
    let known = try TableList.exists(db) ? try TrackedTable.all(db).map(\.name) : []
    let set = Set((names + known).map(\.folded))
    return try names.flatMap { name in
      try texts(db, name, set: set, integerKeys: integerKeys).map { Violation(table: name, text: $0) }
    }
  }

  /// Returns the changes since a table was tracked because of which it would no longer be accepted: a `UNIQUE`
  /// constraint, a reference, or a program. Merged rows that it refuses are held.
  static func laterViolations(_ db: Database) throws -> [Violation] {
    let tables = try TrackedTable.all(db)
    let set = Set(tables.map(\.name.folded))
    return try tables.flatMap { table in
      guard let schema = table.schema else { return [Violation]() }
      return try (uniques(schema) + references(db, schema, set: set) + programs(db, schema) + names(schema)).map {
        Violation(table: table.name, text: $0)
      }
    }
  }

  private static func texts(_ db: Database, _ name: String, set: Set<FoldedName>, integerKeys: Bool) throws -> [String]
  {
    guard !SchemaDescription.isReserved(name) else {
      return ["names that begin with mesh_ or sqlite_ are reserved; rename the table"]
    }
    guard let kind = try TableSchema.kind(db, name)?.kind else {
      return ["there is no such table; look at the name, or create the table first"]
    }
    guard kind == .table, let schema = try TableSchema.read(db, name) else {
      return [
        "it is a \(kind.rawValue)\(kind == .view ? "" : " table"), not an ordinary table; name the tables it reads"
      ]
    }
    let wasOther = try TrackedTable.hadAnotherKey(db, name: name)
    return try size(schema) + key(schema, integerKeys: integerKeys) + (wasOther ? [otherKey] : []) + uniques(schema)
      + references(db, schema, set: set) + programs(db, schema) + brokenKeys(db, schema) + names(schema)
  }
}

extension TrackingRules {
  private static let stayPrivate =
    "it is private while it is synchronized; untrack it first, on each of this account's devices"

  private static let otherKey =
    "its primary key is another, or is compared otherwise, than when it was synchronized before, so its rows would be other "
    + "records; give it that key again, or copy the rows into a table of another name"

  private static func size(_ schema: TableSchema) -> [String] {
    let long = ([schema.name] + schema.columns.map(\.name)).filter { $0.utf8.count > Limits.name }
    return long.map { "the name \($0.prefix(40))… is longer than \(Limits.name) bytes; rename it" }
  }

  private static func key(_ schema: TableSchema, integerKeys: Bool) -> [String] {
    let keys = schema.columns.filter(\.isKey)
    guard let key = keys.first else {
      return ["it has no primary key; re-create it with one, such as id TEXT PRIMARY KEY NOT NULL"]
    }
    guard keys.count == 1 else {
      let names = keys.map(\.name).joined(separator: ", ")
      return ["its primary key has several columns (\(names)); re-create it with a single-column key"]
    }
    var texts: [String] = []
    if !schema.isRowidAlias && !key.notNull {
      texts.append("its primary key \(key.name) may be NULL; re-create it with \(key.name) declared NOT NULL")
    }
    if !integerKeys && (schema.isRowidAlias || key.affinity == .integer) {
      texts.append(
        "its primary key \(key.name) is an integer, so row 1 of two machines would become one row; "
          + "use a UUID as text, or accept it with --integer-keys")
    }
    if ColumnCollation(sql: key.collation) == nil {
      texts.append(
        "its primary key \(key.name) has the collation \(key.collation), which other machines do not know; "
          + "use BINARY, NOCASE or RTRIM")
    }
    if key.generated != .no {
      texts.append("its primary key \(key.name) is a generated column; make it an ordinary one")
    }
    return texts
  }

  /// Returns a reason if rows of a file in UTF-16 have keys that are no valid texts.
  private static func brokenKeys(_ db: Database, _ schema: TableSchema) throws -> [String] {
    guard let key = schema.keyColumn?.name, try TextEncoding.isUTF16(db) else { return [] }
    let count = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM main.\(schema.name.quotedName) WHERE \(TextEncoding.isBroken(key.quotedName))")
    guard let count, count > 0 else { return [] }
    return ["\(count) of its keys are no valid UTF-16 text; give these rows other keys"]
  }

  private static func names(_ schema: TableSchema) -> [String] {
    let reserved = schema.reservedColumns.map { name in
      "the column \(name) is not synchronized, because names that begin with mesh_ or sqlite_ are reserved; rename it"
    }
    guard schema.unreadableColumns > 0 else { return reserved }
    return reserved + [
      "the names of \(schema.unreadableColumns) of its columns are no valid text; rename these columns"
    ]
  }

  private static func uniques(_ schema: TableSchema) -> [String] {
    schema.uniqueIndexes.compactMap { index in
      if isImpliedByKey(index, schema) { return nil }
      let columns = index.columns.map { $0 ?? "an expression" }.joined(separator: ", ")
      let rule =
        "two machines can write equal values at once, and one row would have to vanish"
      return index.isIndex
        ? "the index \(index.name) is UNIQUE on \(columns): \(rule); drop it, or make it an ordinary index"
        : "\(columns) is UNIQUE: \(rule); re-create the table without the constraint"
    }
  }

  /// Returns whether rows that are equal in all columns of the index have equal keys. Such an index refuses no row that
  /// the key allows.
  static func isImpliedByKey(_ index: TableSchema.UniqueIndex, _ schema: TableSchema) -> Bool {
    guard let key = schema.keyColumn else { return false }
    return zip(index.columns, index.collations).contains { column, collation in
      column?.folded == key.name.folded
        && collation.folded == key.collation.folded
    }
  }

  private static func references(_ db: Database, _ schema: TableSchema, set: Set<FoldedName>) throws -> [String] {
    try schema.foreignKeys.flatMap { reference -> [String] in
      let from = reference.columns.joined(separator: ", ")
      var texts: [String] = []
      if reference.columns.count > 1 {
        texts.append("the reference from (\(from)) has several columns; refer to the parent's single-column key")
      } else if let wrong = try wrongTarget(db, reference) {
        texts.append("\(from) refers to \(wrong); refer to the primary key")
      }
      if !set.contains(reference.parent.folded) {
        texts.append("\(from) refers to \(reference.parent), which is not synchronized; name that table as well")
      }
      if reference.onDelete == .restrict {
        texts.append(
          "\(from) is ON DELETE RESTRICT, but a delete that comes from another machine can't be refused; "
            + "use CASCADE, SET NULL or SET DEFAULT")
      }
      return texts
    }
  }

  /// Returns the parent's column that the reference names, if it is not the parent's key.
  private static func wrongTarget(_ db: Database, _ reference: TableSchema.ForeignKey) throws -> String? {
    guard let column = reference.parentColumns?.first, let parent = try TableSchema.read(db, reference.parent),
      parent.keyColumn?.name.folded != column.folded
    else { return nil }
    return "\(reference.parent).\(column)"
  }

  /// Returns the faults of the table's programs. Statements are prepared but not run, which compiles defaults, CHECKs,
  /// generated columns, indexes and triggers.
  private static func programs(_ db: Database, _ schema: TableSchema) throws -> [String] {
    let table = "main.\(schema.name.quotedName)"
    let columns = schema.columns.filter { $0.generated == .no }.map(\.name.quotedName)
    let statements = [
      "INSERT INTO \(table) DEFAULT VALUES",
      "UPDATE \(table) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", "),
      "DELETE FROM \(table)",
    ]
    var reasons: [String] = []
    for statement in statements {
      if let reason = refusal(db, statement), !reasons.contains(reason) { reasons.append(reason) }
    }
    return reasons.map { reason in
      let programs = "its defaults, CHECKs, generated columns, indexes or triggers"
      return reason.hasPrefix("no such table") || reason.hasPrefix("no such column")
        ? "\(programs) name what is not in the file (\(reason)); create it, or drop or change what names it"
        : "\(programs) need what only the app has (\(reason)); use built-in SQL there"
    }
  }

  private static func refusal(_ db: Database, _ sql: String) -> String? {
    do {
      _ = try db.makeStatement(sql: sql)
      return nil
    } catch let error as DatabaseError {
      return error.reason
    } catch {
      return "\(error)"
    }
  }
}
