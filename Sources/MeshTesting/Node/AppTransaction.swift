import MeshCore

/// The statements of one transaction of a simulated app.
struct AppTransaction: Sendable {
  enum Statement: Sendable {
    case insert(table: String, values: [String: Value])
    case upsert(table: String, values: [String: Value])
    case replace(table: String, values: [String: Value])
    case update(table: String, key: Value, values: [String: Value])
    /// Updates one column of every row, which is a statement with many rows.
    case updateAll(table: String, column: String, value: Value)
    case delete(table: String, key: Value)
    case rename(table: String, key: Value, to: Value)
    /// Writes one value to each row of a group, see `AppSchema.leg`.
    case group(Int, value: Value)
    /// Creates or overwrites this many rows of `AppSchema.stock`, or deletes all of them if the amount is nil.
    case bulk(count: Int, amount: Int?)
    /// Creates or overwrites this many rows of the table `item`, all of one list.
    case fill(list: Value, count: Int, title: Value)
    /// Deletes the rows that `fill` creates.
    case empty
    /// Writes to a row of `AppSchema.tally`.
    case tally(Tally)
    case alter(table: String, sql: [String], losing: Loss = .nothing)
  }

  /// The data that an app discards when it alters a table. Unflushed writes to it are lost.
  enum Loss: Sendable, Equatable {
    case nothing
    case column(String)
    case rows
    /// Nothing is lost. Values written under the first name continue under the second.
    case renamed(String, to: String)
  }

  enum Ending: Sendable { case commit, rollback }

  var statements: [Statement]
  var ending: Ending
  /// The index of the first statement in a savepoint that is rolled back.
  var savepoint: Int?
  /// True if it runs with foreign keys off. Otherwise `DROP TABLE` deletes the rows of other tables that refer to the
  /// table, which fails in shares that are read-only.
  var ignoresForeignKeys = false

  /// The data that it discards, by table.
  var losses: [String: Loss] {
    var losses: [String: Loss] = [:]
    for case .alter(let table, _, let loss) in statements where loss != .nothing { losses[table] = loss }
    return losses
  }

  /// The tables that it drops. It recreates them, or a later transaction does.
  var dropped: Set<String> {
    var dropped: Set<String> = []
    for case .alter(let table, let sql, _) in statements where sql.contains(where: { $0.hasPrefix("DROP TABLE") }) {
      dropped.insert(table)
    }
    return dropped
  }

  /// All tables that it can change.
  var tables: [String] {
    let affected = Set(statements.flatMap { AppSchema.affected(by: $0.table) })
    return AppSchema.all.map(\.name).filter(affected.contains)
  }
}

extension AppTransaction.Statement {
  var table: String {
    switch self {
    case .insert(let table, _), .upsert(let table, _), .replace(let table, _), .update(let table, _, _),
      .updateAll(let table, _, _), .delete(let table, _), .rename(let table, _, _), .alter(let table, _, _):
      table
    case .group: AppSchema.leg.name
    case .bulk: AppSchema.stock.name
    case .fill, .empty: "item"
    case .tally: AppSchema.tally.name
    }
  }
}

extension AppTransaction.Statement {
  /// The columns that it names. It fails if they are missing.
  var columns: Set<String> {
    switch self {
    case .insert(_, let values), .upsert(_, let values), .replace(_, let values), .update(_, _, let values):
      Set(values.keys)
    case .updateAll(_, let column, _): [column]
    case .fill: ["list", "title"]
    case .delete, .rename, .group, .bulk, .empty, .tally, .alter: []
    }
  }
}

extension AppTransaction.Statement {
  /// The values that it writes.
  var values: [Value] {
    switch self {
    case .insert(_, let values), .upsert(_, let values), .replace(_, let values), .update(_, _, let values):
      Array(values.values)
    case .updateAll(_, _, let value), .group(_, let value), .fill(_, _, let value): [value]
    case .delete, .rename, .bulk, .empty, .tally, .alter: []
    }
  }
}

extension AppTransaction.Statement: CustomStringConvertible {
  var description: String {
    func text(_ values: [String: Value]) -> String {
      values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }.joined(separator: " ")
    }
    return switch self {
    case .insert(let table, let values): "insert \(table) \(text(values))"
    case .upsert(let table, let values): "upsert \(table) \(text(values))"
    case .replace(let table, let values): "replace \(table) \(text(values))"
    case .update(let table, let key, let values): "update \(table)/\(key.shown) \(text(values))"
    case .updateAll(let table, let column, let value): "update \(table) all \(column)=\(value.shown)"
    case .delete(let table, let key): "delete \(table)/\(key.shown)"
    case .rename(let table, let key, let to): "rename \(table)/\(key.shown) to \(to.shown)"
    case .group(let group, let value): "write group \(group) value=\(value.shown)"
    case .bulk(let count, let amount?): "write \(count) of stock amount=\(amount)"
    case .bulk(_, nil): "delete all stock"
    case .fill(let list, let count, let title): "write \(count) of item list=\(list.shown) title=\(title.shown)"
    case .empty: "delete all of item that came together"
    case .tally(let tally): tally.description
    case .alter(_, let sql, _): sql.joined(separator: "; ")
    }
  }
}
