// swift-format-ignore-file: AmbiguousTrailingClosureOverload

/// The SQL of inserts of one row.
private let insertions = TypeCache()

/// An INSERT statement.
///
/// An insert of no rows is empty, and running it does nothing.
public struct Insert<Into: Table, Returning>: Statement, Sendable {
  public typealias QueryValue = Returning

  /// The source of the new rows.
  enum Source: Sendable {
    case values(QueryFragment)
    case select(QueryFragment)
    case defaultValues
  }

  /// The rule for a row that exists already.
  struct Conflict: Sendable {
    var targets: [String] = []
    var targetConditions: [QueryFragment] = []
    var assignments = QueryFragment()
    var conditions: [QueryFragment] = []
  }

  var conflictResolution: ConflictResolution?
  /// The names of the columns as they stand after the table, or nothing. Without a value, they are all that can be written.
  var columns: String? = ""
  var source = Source.values(QueryFragment())
  var conflict: Conflict?
  var returning = ReturningClause()

  public var query: QueryFragment {
    switch source {
    case .values(let rows) where rows.isEmpty: return QueryFragment()
    case .select(let query) where query.isEmpty: return QueryFragment()
    default: break
    }
    var fragment: QueryFragment = "INSERT "
    let columns = columns ?? Into._insertColumns
    if case .values(let values) = source { fragment.reserve(columns.utf8.count + values.sql.utf8.count + 96) }
    if let conflictResolution { fragment.append(raw: "OR \(conflictResolution.sql) ") }
    fragment.append(raw: "INTO ")
    fragment.append(Into._sourceFragment)
    fragment.append(raw: columns)
    switch source {
    case .values(let values):
      fragment.append(raw: "\nVALUES\n")
      fragment.append(values)
    case .select(let query):
      fragment.append(raw: "\n")
      fragment.append(query)
      // After FROM, SQLite takes ON for the condition of a join.
      if conflict != nil, Self.endsWithFrom(query.sql) { fragment.append(raw: "\nWHERE 1") }
    case .defaultValues:
      fragment.append(raw: "\nDEFAULT VALUES")
    }
    if let conflict { Self.append(conflict, to: &fragment) }
    returning.append(to: &fragment)
    return fragment
  }

  /// The SQL of an insert of one row is made once for each table, because a program inserts rows often.
  ///
  /// The values are a list, which costs a quarter of the time of an insert in C: beside `seed`, which makes no list,
  /// `tools/bench queries insert` shows 1.44 instead of 1.20. They can't stay in the row, because an insert is `Sendable`
  /// and a row needn't be.
  public var _run: _StatementRun {
    guard columns == nil, conflictResolution == nil, conflict == nil, returning.columns.isEmpty,
      case .values(let values) = source, !values.isEmpty, values.sql == Self.placeholderRow
    else {
      let query = query
      return _StatementRun(sql: query.sql, placeholders: query.placeholders)
    }
    return _StatementRun(sql: insertions.text(for: Into.self) { query.sql }, placeholders: values.placeholders)
  }

  private static var placeholderRow: String {
    QueryFragment.placeholderRow(of: Into.TableColumns.writableColumns.count)
  }

  /// Returns whether the last clause of a query is FROM or a join. A clause starts a line, and its subqueries are indented.
  private static func endsWithFrom(_ query: String) -> Bool {
    let later: Set<Substring> = ["WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT"]
    for line in query.split(separator: "\n").reversed() {
      guard let first = line.first, first != " ", first != ")" else { continue }
      return !later.contains(line.prefix { $0 != " " })
    }
    return true
  }

  /// Returns the names of columns as they stand after the table.
  static func list<Values>(of columns: InsertColumns<Values>) -> String {
    columns.names.isEmpty ? "" : "\n" + list(columns.names)
  }

  /// Returns the names of columns in parentheses.
  private static func list(_ columns: [String]) -> String {
    "(\(columns.lazy.map { QueryFragment(quote: $0).sql }.joined(separator: ", ")))"
  }

  private static func append(_ conflict: Conflict, to fragment: inout QueryFragment) {
    fragment.append(raw: "\nON CONFLICT ")
    if !conflict.targets.isEmpty {
      fragment.append(raw: list(conflict.targets))
      fragment.append(conditions: conflict.targetConditions, after: "\nWHERE ")
      fragment.append(raw: "\n")
    }
    guard !conflict.assignments.isEmpty else { return fragment.append(raw: "DO NOTHING") }
    fragment.append(raw: "DO UPDATE SET ")
    fragment.append(conflict.assignments)
    fragment.append(conditions: conflict.conditions, after: "\nWHERE ")
  }

  private func returning<NewReturning>(_ columns: [QueryFragment]) -> Insert<Into, NewReturning> {
    var result = Insert<Into, NewReturning>()
    result.conflictResolution = conflictResolution
    result.columns = self.columns
    switch source {
    case .values(let values): result.source = .values(values)
    case .select(let query): result.source = .select(query)
    case .defaultValues: result.source = .defaultValues
    }
    result.conflict = conflict.map {
      Insert<Into, NewReturning>.Conflict(
        targets: $0.targets, targetConditions: $0.targetConditions, assignments: $0.assignments,
        conditions: $0.conditions)
    }
    result.returning = ReturningClause(columns, of: Into.self)
    return result
  }

  /// Returns a column, or all columns, of each inserted row.
  ///
  /// ```swift
  /// RemindersList.insert { RemindersList.Draft(title: "Personal") }.returning(\.id)
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (NULL, 'Personal', NULL, 0)
  /// // RETURNING "id"
  /// ```
  public func returning<C: QueryExpression>(
    _ selection: KeyPath<Into.TableColumns, C>
  ) -> Insert<Into, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([Into.columns[keyPath: selection].queryFragment])
  }

  /// Returns an expression of each inserted row.
  public func returning<C: QueryExpression>(
    _ selection: (Into.TableColumns) -> C
  ) -> Insert<Into, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([selection(Into.columns).queryFragment])
  }

  /// Returns several expressions of each inserted row.
  public func returning<C1: QueryExpression, C2: QueryExpression, each C3: QueryExpression>(
    _ selection: (Into.TableColumns) -> (C1, C2, repeat each C3)
  ) -> Insert<Into, (C1.QueryValue, C2.QueryValue, repeat (each C3).QueryValue)>
  where
    C1.QueryValue: QueryRepresentable, C2.QueryValue: QueryRepresentable,
    repeat (each C3).QueryValue: QueryRepresentable
  {
    returning(_fragments(of: selection, Into.columns))
  }
}

public typealias InsertOf<Into: Table> = Insert<Into, ()>

/// The name under which an upsert refers to the row that could not be inserted.
public enum _ExcludedName: AliasName {
  public static var aliasName: String { "excluded" }
}

extension Table {
  /// The row of an INSERT that met a row with the same key.
  public typealias Excluded = TableAlias<Self, _ExcludedName>
}

/// The columns that an INSERT names.
public struct InsertColumns<Values>: Sendable {
  let names: [String]
}

/// Collects the columns that an INSERT names.
@resultBuilder
public enum InsertColumnsBuilder<Into: Table> {
  public static func buildExpression<Value: QueryBindable>(
    _ column: TableColumn<Into, Value>
  ) -> InsertColumns<Value> {
    InsertColumns(names: [column.name])
  }

  public static func buildExpression<each Value: QueryBindable>(
    _ column: (repeat TableColumn<Into, each Value>)
  ) -> InsertColumns<(repeat each Value)> {
    var names: [String] = []
    for item in repeat each column { names.append(item.name) }
    return InsertColumns(names: names)
  }

  public static func buildBlock<Values>(_ columns: InsertColumns<Values>) -> InsertColumns<Values> { columns }
}

/// Collects the rows of an INSERT. Its closure may contain `if`, `switch` and loops.
///
/// `Value` is the table, or the types of the columns that the INSERT names.
@resultBuilder
public enum InsertValuesBuilder<Value> {
  public static func buildBlock(_ component: QueryFragment) -> QueryFragment { component }

  public static func buildBlock(_ components: QueryFragment...) -> QueryFragment { buildArray(components) }

  public static func buildArray(_ components: [QueryFragment]) -> QueryFragment {
    components.lazy.filter { !$0.isEmpty }.joined(separator: ", ")
  }

  public static func buildOptional(_ component: QueryFragment?) -> QueryFragment { component ?? QueryFragment() }

  public static func buildEither(first component: QueryFragment) -> QueryFragment { component }

  public static func buildEither(second component: QueryFragment) -> QueryFragment { component }
}

extension InsertValuesBuilder where Value: Table {
  public static func buildExpression(_ row: Value) -> QueryFragment { _row(of: row) }

  public static func buildExpression(_ rows: some Sequence<Value>) -> QueryFragment { _rows(rows) }
}

extension InsertValuesBuilder where Value: PrimaryKeyedTable {
  public static func buildExpression(_ row: Value.Draft) -> QueryFragment { _row(of: row) }

  public static func buildExpression(_ rows: some Sequence<Value.Draft>) -> QueryFragment { _rows(rows) }
}

extension InsertValuesBuilder where Value: QueryBindable {
  public static func buildExpression(_ value: Value.QueryOutput) -> QueryFragment {
    _row(Value(queryOutput: value).queryFragment)
  }

  public static func buildExpression(_ values: some Sequence<Value.QueryOutput>) -> QueryFragment {
    values.lazy.map { _row(Value(queryOutput: $0).queryFragment) }.joined(separator: ", ")
  }

  public static func buildExpression(_ value: some QueryExpression<Value>) -> QueryFragment {
    _row(value.queryFragment)
  }
}

extension InsertValuesBuilder {
  public static func buildExpression<each V: QueryBindable>(
    _ values: (repeat (each V).QueryOutput)
  ) -> QueryFragment where Value == (repeat each V) {
    var fragment: QueryFragment = "("
    for (type, value) in repeat ((each V).self, each values) { _append(type, value, to: &fragment) }
    fragment.append(raw: ")")
    return fragment
  }

  @_disfavoredOverload
  public static func buildExpression<each V: QueryBindable>(
    _ rows: [(repeat (each V).QueryOutput)]
  ) -> QueryFragment where Value == (repeat each V) {
    var fragment = QueryFragment()
    for row in rows {
      fragment.append(raw: fragment.isEmpty ? "(" : ", (")
      for (type, value) in repeat ((each V).self, each row) { _append(type, value, to: &fragment) }
      fragment.append(raw: ")")
    }
    return fragment
  }

  @_disfavoredOverload
  public static func buildExpression<each V: QueryBindable, each E: QueryExpression>(
    _ values: (repeat each E)
  ) -> QueryFragment where Value == (repeat each V), repeat (each E).QueryValue == each V {
    _row(_fragments(repeat each values).joined(separator: ", "))
  }

  static func _append<V: QueryBindable>(_ type: V.Type, _ value: V.QueryOutput, to fragment: inout QueryFragment) {
    if !fragment.sql.hasSuffix("(") { fragment.append(raw: ", ") }
    fragment.append(V(queryOutput: value).queryFragment)
  }

  static func _row(of row: some Table) -> QueryFragment {
    var fragment = QueryFragment()
    fragment.append(row: row)
    return fragment
  }

  static func _rows(_ rows: some Sequence<some Table>) -> QueryFragment {
    var fragment = QueryFragment()
    for row in rows {
      if !fragment.isEmpty { fragment.append(raw: ", ") }
      fragment.append(row: row)
    }
    return fragment
  }

  static func _row(_ values: QueryFragment) -> QueryFragment {
    var fragment: QueryFragment = "("
    fragment.append(values)
    fragment.append(raw: ")")
    return fragment
  }
}
