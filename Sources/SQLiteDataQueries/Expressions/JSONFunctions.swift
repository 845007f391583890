import Foundation

extension QueryExpression where QueryValue: QueryDecodable {
  /// The number of elements of a JSON array.
  ///
  /// ```swift
  /// Reminder.select { $0.notes.jsonArrayLength() }
  /// // SELECT json_array_length("reminders"."notes") …
  /// ```
  public func jsonArrayLength() -> SQLQueryExpression<Int> { _call("json_array_length") }

  /// The value at a path of a JSON text.
  ///
  /// ```swift
  /// Reminder.select { $0.notes.jsonExtract("$.color", as: String?.self) }
  /// // SELECT json_extract("reminders"."notes", '$.color') …
  /// ```
  public func jsonExtract<Value: QueryRepresentable>(
    _ path: String, as type: Value.Type = Value.self
  ) -> SQLQueryExpression<Value> {
    _call("json_extract", path.queryFragment)
  }

  /// A JSON text with the keys of another one put into it.
  ///
  /// ```swift
  /// Reminder.select { $0.title.jsonPatch("{}") }
  /// // SELECT json_patch("reminders"."title", '{}') …
  /// ```
  public func jsonPatch(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _call("json_patch", other.queryFragment)
  }
}

extension QueryExpression where QueryValue: QueryBindable, QueryValue.QueryOutput: Codable {
  /// The values of all rows as a JSON array.
  ///
  /// ```swift
  /// Reminder.select { $0.title.jsonGroupArray() }
  /// // SELECT json_group_array("reminders"."title") …
  /// ```
  public func jsonGroupArray(
    distinct isDistinct: Bool = false,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<[QueryValue.QueryOutput].JSONRepresentation> {
    _aggregate("json_group_array", distinct: isDistinct, order: order?.queryFragment, filter: filter?.queryFragment)
  }
}

extension TableDefinition where QueryValue: Codable {
  /// The row as a JSON object.
  ///
  /// ```swift
  /// Tag.select { $0.jsonObject() }
  /// // SELECT json_object('id', "tags"."id", 'title', "tags"."title")
  /// // FROM "tags"
  /// ```
  ///
  /// The keys are the names of the columns. If a column has another name than its property, declare `CodingKeys` with
  /// the names of the columns.
  public func jsonObject() -> SQLQueryExpression<QueryValue.JSONRepresentation> {
    SQLQueryExpression(_jsonObject(QueryValue.self))
  }

  /// The rows as a JSON array of objects.
  ///
  /// ```swift
  /// Tag.select { $0.jsonGroupArray() }
  /// // SELECT json_group_array(json_object('id', "tags"."id", 'title', "tags"."title"))
  /// // FROM "tags"
  /// ```
  public func jsonGroupArray(
    distinct isDistinct: Bool = false,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<[QueryValue].JSONRepresentation> {
    jsonObject()._aggregate(
      "json_group_array", distinct: isDistinct, order: order?.queryFragment, filter: filter?.queryFragment)
  }
}

extension Optional.TableColumns where Wrapped: PrimaryKeyedTable & Codable {
  /// The row as a JSON object, or NULL if an outer join left it out.
  public func jsonObject() -> SQLQueryExpression<Wrapped.JSONRepresentation?> {
    SQLQueryExpression("CASE WHEN \(_isPresent) THEN \(_jsonObject(Wrapped.self)) END")
  }

  private var _isPresent: QueryFragment { "(\(Wrapped.columns.primaryKey._tableColumns[0])) IS NOT (NULL)" }

  /// The rows as a JSON array of objects. A row that an outer join left out isn't in it.
  public func jsonGroupArray(
    distinct isDistinct: Bool = false,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<[Wrapped].JSONRepresentation> {
    var condition = _isPresent
    if let filter { condition = "(\(condition)) AND (\(filter))" }
    return SQLQueryExpression<Wrapped.JSONRepresentation>(
      _jsonObject(Wrapped.self), as: Wrapped.JSONRepresentation.self
    )
    ._aggregate("json_group_array", distinct: isDistinct, order: order?.queryFragment, filter: condition)
  }
}

/// The JSON objects of tables, which bind nothing.
private let objects = TypeCache()

/// Makes a JSON object of a table's columns.
private func _jsonObject<T: Table>(_ table: T.Type) -> QueryFragment {
  QueryFragment(objects.text(for: table) { _jsonObject(table, in: table).sql })
}

/// Makes a JSON object of the columns that a table or selection has in another table.
private func _jsonObject<T: Table, Root: Table>(_ table: T.Type, in root: Root.Type) -> QueryFragment {
  func member<C: TableColumnExpression>(of column: C) -> QueryFragment {
    let value = column._column(of: root).queryFragment
    let json = (C.Value.self as? any _JSONElement.Type)?._json(of: value)
    return "\(quote: column.name, delimiter: .text), \(json ?? value)"
  }
  // A property that holds a group of columns is an object in the object. The primary key is listed a second time.
  var listed: Set<String> = []
  let members = Mirror(reflecting: T.columns).children.compactMap { label, value -> QueryFragment? in
    guard let list = value as? any _TableColumnList else { return nil }
    let names = list._tableColumns.map(\.name)
    guard !listed.isSuperset(of: names) else { return nil }
    listed.formUnion(names)
    guard let group = value as? any _JSONGroup else {
      return (value as? any TableColumnExpression).map { member(of: $0) }
    }
    return "\(quote: label ?? "", delimiter: .text), \(group._json(in: root))"
  }
  // An alias has no properties.
  return "json_object(\(_joined(members.isEmpty ? T.TableColumns.allColumns.map { member(of: $0) } : members, ", ")))"
}

/// A group of columns, whose type has its own JSON object.
private protocol _JSONGroup {
  func _json(in root: (some Table).Type) -> QueryFragment
}

extension ColumnGroup: _JSONGroup {
  fileprivate func _json(in root: (some Table).Type) -> QueryFragment {
    (Value.self as? any _OptionalTable.Type)?._json(in: root) ?? _jsonObject(Value.self, in: root)
  }
}

/// A group of columns that is nil if all of them are NULL.
private protocol _OptionalTable {
  static func _json(in root: (some Table).Type) -> QueryFragment
}

extension Optional: _OptionalTable where Wrapped: Table {
  fileprivate static func _json(in root: (some Table).Type) -> QueryFragment {
    let columns = Wrapped.TableColumns.allColumns.map { $0._column(of: root).queryFragment }
    return
      "CASE WHEN coalesce(\(_joined(columns + ["NULL"], ", "))) NOT NULL THEN \(_jsonObject(Wrapped.self, in: root)) END"
  }
}

/// A form of values that isn't yet the JSON from which a value is decoded.
protocol _JSONElement {
  /// Returns the JSON for the value of a column.
  static func _json(of column: QueryFragment) -> QueryFragment
}

extension _CodableJSONRepresentation: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment { "json(\(column))" }
}

extension _CodableJSONBRepresentation: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment { "json(\(column))" }
}

extension Bool: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment {
    "json(CASE \(column) WHEN 0 THEN 'false' WHEN 1 THEN 'true' END)"
  }
}

extension Date.UnixTimeRepresentation: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment {
    "strftime('%Y-%m-%d %H:%M:%f', \(column), 'unixepoch')"
  }
}

extension Date.JulianDayRepresentation: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment { "strftime('%Y-%m-%d %H:%M:%f', \(column))" }
}

extension UUID.BytesRepresentation: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment {
    let digits: QueryFragment = "hex(\(column))"
    let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
      .map { "substr(\(digits), \(raw: $0.0), \(raw: $0.1))" as QueryFragment }
    return "iif(\(column) IS NULL, NULL, \(parts.joined(separator: " || '-' || ")))"
  }
}

extension Optional: _JSONElement where Wrapped: _JSONElement {
  static func _json(of column: QueryFragment) -> QueryFragment { Wrapped._json(of: column) }
}
