/// A virtual table with a full-text index.
///
/// ```swift
/// @Table struct ReminderText: FTS5 { let rowid: Int; let title: String }
/// ```
public protocol FTS5: Table {}

extension TableDefinition {
  /// The number by which SQLite finds the row.
  ///
  /// ```swift
  /// Reminder.select { $0.rowid }
  /// // SELECT "reminders"."rowid" …
  /// ```
  public var rowid: SQLQueryExpression<Int> {
    SQLQueryExpression(_qualifiedName("rowid", of: QueryValue.self))
  }
}

extension TableDefinition where QueryValue: FTS5 {
  /// How well the row matches the search. Better matches have smaller numbers.
  public var rank: SQLQueryExpression<Double?> { SQLQueryExpression(_qualifiedName("rank", of: QueryValue.self)) }

  /// A condition that holds if any column of the row matches a search.
  ///
  /// ```swift
  /// ReminderText.where { $0.match("milk") }.order { $0.rank }
  /// // … WHERE ("reminderTexts" MATCH 'milk')
  /// // ORDER BY "reminderTexts"."rank"
  /// ```
  public func match(_ pattern: some StringProtocol) -> SQLQueryExpression<Bool> {
    SQLQueryExpression("(\(quote: QueryValue._qualifier) MATCH \(bind: String(pattern)))")
  }

  /// How well the row matches the search, if columns count differently. The weights follow the columns.
  public func bm25(_ weights: Double...) -> SQLQueryExpression<Double> {
    var fragment: QueryFragment = "bm25(\(quote: QueryValue._qualifier)"
    for weight in weights { fragment.append(", \(weight)") }
    fragment.append(raw: ")")
    return SQLQueryExpression(fragment)
  }
}

extension TableDefinition where QueryValue: FTS5 {
  /// How well the row matches the search, if some columns count differently. The others have the weight 1.
  public func bm25(_ weights: [PartialKeyPath<Self>: Double]) -> SQLQueryExpression<Double> {
    var named: [String: Double] = [:]
    for (path, weight) in weights {
      if let column = self[keyPath: path] as? any TableColumnExpression { named[column.name] = weight }
    }
    // SQLite takes the weights in the order of the columns; the identifier of the row isn't one of them.
    let columns = Self.allColumns.filter { !["rowid", "rank"].contains($0.name) }
    var fragment: QueryFragment = "bm25(\(quote: QueryValue._qualifier)"
    for column in columns { fragment.append(", \(named[column.name] ?? 1)") }
    fragment.append(raw: ")")
    return SQLQueryExpression(fragment)
  }
}

extension TableColumnExpression where Root: FTS5 {
  /// The text of the column with each match between two marks.
  ///
  /// ```swift
  /// ReminderText.where { $0.match("milk") }.select { $0.title.highlight("<b>", "</b>") }
  /// // SELECT highlight("reminderTexts", 0, '<b>', '</b>') …
  /// ```
  public func highlight(_ open: some StringProtocol, _ close: some StringProtocol) -> SQLQueryExpression<String> {
    SQLQueryExpression(
      "highlight(\(quote: Root._qualifier), \(_index), \(bind: String(open)), \(bind: String(close)))")
  }

  /// The part of the column's text around the matches.
  public func snippet(
    _ open: some StringProtocol, _ close: some StringProtocol, _ ellipsis: some StringProtocol, _ tokens: Int
  ) -> SQLQueryExpression<String> {
    SQLQueryExpression(
      """
      snippet(\(quote: Root._qualifier), \(_index), \(bind: String(open)), \(bind: String(close)), \
      \(bind: String(ellipsis)), \(tokens))
      """)
  }

  /// The position of the column in the index. The row's number isn't one of its columns.
  private var _index: Int {
    Root.TableColumns.allColumns.map(\.name).filter { $0 != "rowid" }.firstIndex(of: name) ?? 0
  }
}
