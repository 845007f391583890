/// A complete SQL statement.
public protocol Statement<QueryValue>: QueryExpression {
  /// The SQL of the statement and its bound values. A statement that has nothing to do is empty.
  var query: QueryFragment { get }
}

extension Statement {
  /// The statement in parentheses, as it stands inside of another one.
  public var queryFragment: QueryFragment {
    var fragment: QueryFragment = "(\n"
    fragment.append(query.indented())
    fragment.append(raw: "\n)")
    return fragment
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
