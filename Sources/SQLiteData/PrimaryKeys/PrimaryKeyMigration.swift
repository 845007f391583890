import Foundation
import GRDB
import MeshCore

/// The migration of the primary keys of some tables: the checks, the plans, and the change.
struct PrimaryKeyMigration {
  /// A table of the migration.
  struct Request {
    var name: String
    var schema: String?
    /// The names of the key's columns in the Swift type.
    var keys: [String]
  }

  private typealias Violation = PrimaryKeyMigrationError.Violation

  private let db: Database
  private let requests: [Request]
  private let dropsUniqueConstraints: Bool
  /// The SQL function that creates the key of a new row.
  private let function: String
  private let key: MigratedKey
  private let tables: [TableDescription]
  private var violations: [Violation] = []

  init(
    _ db: Database, _ requests: [Request], dropUniqueConstraints: Bool, function: String, salt: String
  ) throws {
    self.db = db
    self.requests = requests
    self.dropsUniqueConstraints = dropUniqueConstraints
    self.function = function
    key = MigratedKey(salt: salt)
    tables = try TableDescription.all(db)
  }

  /// Changes the tables, or throws all violations.
  mutating func run() throws {
    var listed: [TableDescription] = []
    for request in requests {
      guard let table = table(for: request), !listed.contains(where: { $0.name == table.name }) else { continue }
      listed.append(table)
    }
    for table in listed { checkReferences(of: table) }
    for table in tables where !isListed(table) { checkUnlisted(table) }
    var rebuilt: [(TableDescription, Plan)] = []
    for table in listed {
      if let plan = try plan(table) { rebuilt.append((table, plan)) }
    }
    for table in listed { try checkRows(of: table, "doesn't exist") }
    guard violations.isEmpty else { throw PrimaryKeyMigrationError(violations: violations) }
    db.add(function: key.function)
    defer { db.remove(function: key.function) }
    for (table, plan) in rebuilt { try rebuild(table, plan) }
    for table in listed { try checkRows(of: table, "was lost") }
    guard violations.isEmpty else { throw PrimaryKeyMigrationError(violations: violations) }
  }

  private mutating func report(_ table: String?, _ problem: String, _ remedy: String) {
    let violation = Violation(table: table, problem: problem, remedy: remedy)
    if !violations.contains(violation) { violations.append(violation) }
  }

  private func table(named name: String) -> TableDescription? { tables.first { $0.name.isSameName(as: name) } }

  // MARK: Problems

  /// Returns the table of a request, or nil after reporting the reason that it can't be migrated.
  private mutating func table(for request: Request) -> TableDescription? {
    if let schema = request.schema, !schema.isSameName(as: "main") {
      report(
        request.name, "the table is in the attached database \"\(schema)\"",
        "Open that database by itself, and migrate the keys of its tables there.")
      return nil
    }
    guard let table = table(named: request.name) else {
      report(
        request.name, "there is no such table",
        "Create it before, leave it out, or name it with '@Table(\"…\")'. Views and virtual tables have no keys.")
      return nil
    }
    checkKey(of: table, request)
    return table
  }

  private mutating func checkKey(of table: TableDescription, _ request: Request) {
    let keys = table.keys
    guard keys.count < 2, request.keys.count < 2 else {
      let names = (keys.count < 2 ? request.keys : keys.map(\.name)).map(\.quotedName).joined(separator: ", ")
      return report(
        table.name, "the primary key has several columns: \(names)",
        """
        Give each row a key of its own: create the table again without PRIMARY KEY (\(names)), copy the rows, and list \
        it here. Keep the columns unique with CREATE UNIQUE INDEX if you don't synchronize the table.
        """)
    }
    guard let key = keys.first else {
      if let name = request.keys.first, let column = table.column(name) {
        report(
          table.name, "column \(column.name.quotedName) isn't the primary key of the table",
          "Declare it as PRIMARY KEY, or rename it: ALTER TABLE \(table.name.quotedName) RENAME COLUMN "
            + "\(column.name.quotedName) TO \("old_\(column.name)".quotedName)")
      }
      return
    }
    guard !key.isInteger, !key.isText else { return }
    report(
      table.name,
      "primary key \(key.name.quotedName) is of type '\(key.type)', and only INTEGER and TEXT can be migrated",
      "Copy the rows to a table with 'INTEGER PRIMARY KEY' or a TEXT key before.")
  }

  private mutating func checkReferences(of table: TableDescription) {
    for reference in table.references {
      guard let target = self.table(named: reference.table) else {
        report(
          table.name,
          "column \(reference.column.quotedName) refers to table \"\(reference.table)\", which doesn't exist",
          "Create that table, or create \(table.name.quotedName) again without the reference.")
        continue
      }
      if !requests.contains(where: { $0.name.isSameName(as: target.name) }) {
        report(
          table.name, "column \(reference.column.quotedName) refers to table \"\(target.name)\", which isn't listed",
          "List the type of \"\(target.name)\" in 'tables' as well.")
      }
      if dropsUniqueConstraints, let column = target.target(of: reference), column.keyIndex == 0 {
        report(
          table.name,
          "column \(reference.column.quotedName) refers to column \(column.name.quotedName) of \"\(target.name)\", "
            + "which has to stay unique for that",
          "Refer to the primary key instead, or leave out 'dropUniqueConstraints'.")
      }
    }
    for column in table.columns where origins(of: column, in: table).count > 1 {
      report(
        table.name, "column \(column.name.quotedName) refers to the keys of several tables",
        "Create the table again with a column for each reference.")
    }
  }

  /// Reports the columns of a table that isn't listed. The table would keep its values, and they would refer to
  /// nothing.
  private mutating func checkUnlisted(_ table: TableDescription) {
    for column in table.columns where !origins(of: column, in: table).isEmpty {
      report(
        table.name, "column \(column.name.quotedName) refers to a key that changes, and the table isn't listed",
        "List the type of \"\(table.name)\" in 'tables' as well, or drop the table.")
    }
  }

  private mutating func checkRows(of table: TableDescription, _ state: String) throws {
    let name = table.name.quotedName
    for row in try violatingRows(of: table) {
      let parent: String = row["parent"]
      let index: Int = row["fkid"]
      let rowID: Int64? = row["rowid"]
      let column = try String.fetchOne(
        db, sql: "SELECT \"from\" FROM pragma_foreign_key_list(?, 'main') WHERE \"id\" = ? ORDER BY \"seq\"",
        arguments: [table.name, index])
      let place = rowID.map { "row \($0)" } ?? "a row"
      let reference = (column ?? "?").quotedName
      report(
        table.name, "\(place) refers by \(reference) to a row of \"\(parent)\" that \(state)",
        rowID.map {
          """
          Delete it: DELETE FROM \(name) WHERE rowid = \($0); or, if the column may be NULL: \
          UPDATE \(name) SET \(reference) = NULL WHERE rowid = \($0);
          """
        } ?? "PRAGMA foreign_key_check(\(name)) lists such rows. Delete or mend them.")
    }
  }

  private mutating func violatingRows(of table: TableDescription) throws -> [Row] {
    do {
      return try Row.fetchAll(db, sql: "PRAGMA main.foreign_key_check(\(table.name.quotedName))")
    } catch let error as DatabaseError where error.message?.hasPrefix("foreign key mismatch") == true {
      report(
        table.name, "a reference points to columns that aren't unique: \(error.message ?? "")",
        "Refer to the primary key, or create a UNIQUE index for the columns.")
      return []
    }
  }

  // MARK: Plans

  /// Returns the tables whose former keys are the source of a column's values.
  private func origins(of column: TableDescription.Column, in table: TableDescription) -> Set<String> {
    var waiting = [(table, column)]
    var seen: Set<String> = []
    var numbered: Set<String> = []
    var ends: Set<String> = []
    var isCircle = true
    while let (table, column) = waiting.popLast() {
      guard seen.insert("\(table.name)\t\(column.name)").inserted else { continue }
      let isNumbered = table.isNumberKey(column) && isListed(table)
      if isNumbered { numbered.insert(table.name) }
      let targets = table.references.compactMap { reference -> (TableDescription, TableDescription.Column)? in
        guard reference.column.isSameName(as: column.name), let target = self.table(named: reference.table) else {
          return nil
        }
        return target.target(of: reference).map { (target, $0) }
      }
      if targets.isEmpty {
        isCircle = false
        if isNumbered { ends.insert(table.name) }
      }
      waiting += targets
    }
    // If keys refer to each other in a circle, they come from the first of the tables.
    return isCircle ? Set(numbered.min().map { [$0] } ?? []) : ends
  }

  private func isListed(_ table: TableDescription) -> Bool {
    requests.contains { $0.name.isSameName(as: table.name) }
  }

  /// The changes of one table.
  private struct Plan {
    /// The definition of the new table, without its name.
    var text: TableText
    /// The copied columns, with the SQL of their values.
    var copies: [(column: String, value: String)] = []
  }

  /// Returns the changes of a table, or nil if there are none.
  private mutating func plan(_ table: TableDescription) throws -> Plan? {
    do {
      var plan = Plan(text: try TableText(table.sql))
      var isChanged = addKey(to: &plan, table)
      for column in table.columns {
        let origin = origins(of: column, in: table).min()
        if let origin {
          try change(column, of: table, origin: origin, &plan)
          isChanged = true
        }
        guard !column.isGenerated else { continue }
        plan.copies.append((column.name, value(of: column, in: table, origin: origin)))
      }
      if dropsUniqueConstraints { isChanged = try dropUniqueConstraints(&plan, table) || isChanged }
      return isChanged ? plan : nil
    } catch let error as TableText.Unreadable {
      report(
        table.name, "its definition can't be read near \"\(error.text.prefix(40))\"",
        "Create the table again with a definition in the usual form, and copy the rows.")
      return nil
    }
  }

  private var keyDefault: String { "NOT NULL ON CONFLICT REPLACE DEFAULT (\(function.quotedName)())" }

  /// Adds a key to a table without one.
  private mutating func addKey(to plan: inout Plan, _ table: TableDescription) -> Bool {
    guard table.keys.isEmpty, let name = requests.first(where: { $0.name.isSameName(as: table.name) })?.keys.first
    else { return false }
    plan.text.insertFirst("\(name.quotedName) TEXT PRIMARY KEY \(keyDefault)")
    if let rowID = table.rowID {
      plan.copies.append((name, call(table.name, "'rowid ' || \(rowID)")))
    } else {
      report(
        table.name, "it has no primary key, and its columns hide the number of the row",
        "Rename one of the columns \"rowid\", \"_rowid_\" and \"oid\".")
    }
    return true
  }

  private mutating func change(
    _ column: TableDescription.Column, of table: TableDescription, origin: String, _ plan: inout Plan
  ) throws {
    guard let definition = plan.text.column(column.name) else { throw TableText.Unreadable(text: column.name) }
    plan.text.makeText(definition)
    let isKey = table.isNumberKey(column)
    // The key of a row that belongs to another row is given, not generated.
    let isOwnKey = isKey && !table.references.contains { $0.column.isSameName(as: column.name) }
    for constraint in definition.constraints {
      switch constraint.kind {
      case .primaryKey where isKey:
        plan.text.makePlain(constraint)
        plan.text.insert(" " + (isOwnKey ? keyDefault : "NOT NULL"), after: constraint)
      case .notNull where isKey: plan.text.remove(constraint)
      case .defaultValue where isOwnKey: plan.text.remove(constraint)
      case .defaultValue: replaceDefault(constraint, column, of: table, origin, &plan)
      default: break
      }
    }
    if isKey, let constraint = plan.text.constraints.first(where: { $0.kind == .primaryKey }) {
      plan.text.insert(" " + (isOwnKey ? keyDefault : "NOT NULL"), after: definition)
      plan.text.makePlain(constraint)
    }
  }

  /// Replaces the default of a reference with the new key of the same row.
  private mutating func replaceDefault(
    _ constraint: TableText.Constraint, _ column: TableDescription.Column, of table: TableDescription, _ origin: String,
    _ plan: inout Plan
  ) {
    guard let value = column.defaultValue, value.uppercased() != "NULL" else { return }
    guard let number = Int64(value) else {
      return report(
        table.name, "the default of column \(column.name.quotedName) is \(value), and only a number can be migrated",
        "Create the table again with a number or without a default.")
    }
    plan.text.replace(constraint.range, with: "DEFAULT \(key.uuid(table: origin, key: "\(number)").quotedText)")
  }

  private func dropUniqueConstraints(_ plan: inout Plan, _ table: TableDescription) throws -> Bool {
    let constraints = plan.text.constraints + plan.text.columns.flatMap(\.constraints)
    for constraint in constraints where constraint.kind == .unique { plan.text.remove(constraint) }
    let count = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM pragma_index_list(?, 'main') WHERE \"unique\" AND \"origin\" <> 'pk'",
      arguments: [table.name])
    return count != 0
  }

  private func value(of column: TableDescription.Column, in table: TableDescription, origin: String?) -> String {
    let name = column.name.quotedName
    guard let origin else { return name }
    // The key may be NULL in a table whose key isn't INTEGER PRIMARY KEY.
    if column.keyIndex > 0, let rowID = table.rowID { return call(origin, "ifnull(\(name), 'rowid ' || \(rowID))") }
    return call(origin, name)
  }

  private func call(_ table: String, _ value: String) -> String {
    "\(MigratedKey.functionName)(\(table.quotedText), \(value))"
  }

  // MARK: The change

  private func rebuild(_ table: TableDescription, _ plan: Plan) throws {
    let name = table.name.quotedName
    let temporary = try unusedName(for: table)
    // Dropping the table also drops its indexes and triggers.
    let others = try Row.fetchAll(
      db,
      sql: """
        SELECT "sql", 0 AS "isTemporary", "rowid" AS "place" FROM main."sqlite_schema"
        WHERE "tbl_name" = :table COLLATE NOCASE AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL
        UNION ALL
        SELECT "sql", 1, "rowid" FROM temp."sqlite_schema"
        WHERE "tbl_name" = :table COLLATE NOCASE AND "type" = 'trigger'
        ORDER BY "isTemporary", "place"
        """,
      arguments: ["table": table.name])
    try db.execute(sql: plan.text.renamed(temporary))
    var copies = plan.copies
    if let rowID = table.rowID, !copies.contains(where: { $0.column.isSameName(as: rowID) }) {
      copies.insert((rowID, rowID), at: 0)
    }
    try db.execute(
      sql: """
        INSERT INTO main.\(temporary.quotedName) (\(copies.map { $0.column.quotedName }.joined(separator: ", ")))
        SELECT \(copies.map(\.value).joined(separator: ", ")) FROM main.\(name)
        """)
    try db.execute(sql: "DROP TABLE main.\(name)")
    try db.execute(sql: "ALTER TABLE main.\(temporary.quotedName) RENAME TO \(name)")
    for other in others { try db.execute(sql: recreation(of: other["sql"], isTemporary: other["isTemporary"])) }
  }

  private func unusedName(for table: TableDescription) throws -> String {
    let names = try String.fetchAll(db, sql: "SELECT \"name\" FROM main.\"sqlite_schema\"").map(\.folded)
    var name = "new_\(table.name)"
    while names.contains(name.folded) { name = "new_\(name)" }
    return name
  }

  /// Returns the SQL that creates an index or trigger again.
  private func recreation(of sql: String, isTemporary: Bool) -> String {
    let tokens = sql.sqlPieces
    guard let second = tokens.dropFirst().first else { return sql }
    if second.keyword == "UNIQUE", dropsUniqueConstraints {
      return sql.replacingCharacters(in: second.range, with: "")
    }
    guard isTemporary, second.keyword == "TRIGGER" else { return sql }
    return sql.replacingCharacters(in: second.range, with: "TEMP TRIGGER")
  }
}
