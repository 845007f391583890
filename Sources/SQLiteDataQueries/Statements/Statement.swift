/// A complete SQL statement.
public protocol Statement<QueryValue>: QueryExpression {
  /// The SQL of the statement and its bound values. A statement that has nothing to do is empty.
  var query: QueryFragment { get }

  /// The SQL and the bound values, for running the statement.
  var _run: _StatementRun { get }
}

/// The SQL of a statement and the values of its placeholders in their order, for running it.
public struct _StatementRun {
  public let sql: String
  public let placeholders: [QueryFragment.Placeholder]
}

extension Statement {
  public var _run: _StatementRun {
    let query = query
    return _StatementRun(sql: query.sql, placeholders: query.placeholders)
  }

  /// The statement in parentheses, as it stands inside of another one.
  public var queryFragment: QueryFragment { _rows }

  /// The statement in parentheses, as the rows that a condition or a value is taken from.
  var _rows: QueryFragment {
    let width = (QueryValue.self as? any QueryDecodable.Type)?._columnWidth ?? 1
    var fragment: QueryFragment = "(\n"
    fragment.append(query.orNoRows(of: width).indented())
    fragment.append(raw: "\n)")
    return fragment
  }
}

extension QueryFragment {
  /// Returns the query, or one without rows if it is empty: SQL has no empty query inside of another one.
  func orNoRows(of columnCount: Int) -> QueryFragment {
    guard isEmpty else { return self }
    let columns = Array(repeating: "NULL", count: columnCount).joined(separator: ", ")
    return "SELECT \(raw: columns) WHERE 0"
  }

  /// Returns the query, or one without rows of a table if it is empty.
  func orNoRows<T: Table>(of table: T.Type) -> QueryFragment {
    guard isEmpty else { return self }
    let columns = T.TableColumns.allColumns.map { "NULL AS \(quote: $0.name)" as QueryFragment }
    return "SELECT \(columns.joined(separator: ", ")) WHERE 0"
  }
}

/// A statement that returns rows and may be part of a compound select or of a common table expression.
public protocol PartialSelectStatement<QueryValue>: Statement {}

/// A SELECT over a table and the tables joined to it.
public protocol SelectStatement<QueryValue, From, Joins>: PartialSelectStatement, Sendable {
  associatedtype From: Table

  /// The joined tables: `()`, one table, or a tuple of tables.
  associatedtype Joins = ()

  /// The statement as a value whose clauses can be extended.
  func asSelect() -> Select<QueryValue, From, Joins>
}

extension SelectStatement {
  public var query: QueryFragment { asSelect().query }
}

public typealias SelectStatementOf<From: Table, each Join: Table> = SelectStatement<(), From, (repeat each Join)>

public typealias SelectOf<From: Table, each Join: Table> = Select<(), From, (repeat each Join)>
