// swift-format-ignore-file: AmbiguousTrailingClosureOverload

// Joins of which only one side selects, and only one column. The general forms in Joins.swift have the same results, but
// the compiler doesn't see within one expression that the list of columns is a single type.

extension SelectStatement {
  /// Joins a query that selects one column.
  @_disfavoredOverload
  public func join<C: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<C, From, (repeat each J1, F)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  /// Joins a query that selects one column, which is NULL for rows without a match.
  @_disfavoredOverload
  public func leftJoin<C: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<C._Optionalized, From, (repeat each J1, F._Optionalized)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  /// Joins a query that selects one column, and keeps its rows without a match.
  @_disfavoredOverload
  public func rightJoin<C: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<C, From._Optionalized, (repeat (each J1)._Optionalized, F)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  /// Joins a query that selects one column, and keeps the rows of both queries without a match.
  @_disfavoredOverload
  public func fullJoin<C: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<C._Optionalized, From._Optionalized, (repeat (each J1)._Optionalized, F._Optionalized)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }

  /// Joins a table to a query that selects one column.
  @_disfavoredOverload
  public func join<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<QueryValue, From, (repeat each J1, F)>
  where QueryValue: QueryRepresentable, Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  /// Joins a table to a query that selects one column, and keeps the rows without a match.
  @_disfavoredOverload
  public func leftJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<QueryValue, From, (repeat each J1, F._Optionalized)>
  where QueryValue: QueryRepresentable, Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  /// Joins a table to a query that selects one column, which is NULL for rows of the table without a match.
  @_disfavoredOverload
  public func rightJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<QueryValue._Optionalized, From._Optionalized, (repeat (each J1)._Optionalized, F)>
  where QueryValue: QueryRepresentable, Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  /// Joins a table to a query that selects one column, and keeps the rows of both without a match.
  @_disfavoredOverload
  public func fullJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<QueryValue._Optionalized, From._Optionalized, (repeat (each J1)._Optionalized, F._Optionalized)>
  where QueryValue: QueryRepresentable, Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }
}

extension Table {
  /// Joins a query that selects one column.
  @_disfavoredOverload
  public static func join<C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<C, Self, F> {
    all.asSelect().joining(other.asSelect(), "JOIN", constraint((columns, F.columns)).queryFragment)
  }

  /// Joins a query that selects one column, which is NULL for rows without a match.
  @_disfavoredOverload
  public static func leftJoin<C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<C._Optionalized, Self, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "LEFT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  /// Joins a query that selects one column, and keeps its rows without a match.
  @_disfavoredOverload
  public static func rightJoin<C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<C, _Optionalized, F> {
    all.asSelect().joining(other.asSelect(), "RIGHT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  /// Joins a query that selects one column, and keeps the rows of both without a match.
  @_disfavoredOverload
  public static func fullJoin<C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<C, F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<C._Optionalized, _Optionalized, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "FULL JOIN", constraint((columns, F.columns)).queryFragment)
  }
}
