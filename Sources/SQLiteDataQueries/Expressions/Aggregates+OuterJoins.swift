// Aggregates of rows that fulfil a condition which an outer join may leave NULL. NULL doesn't fulfil it.

extension QueryExpression where QueryValue: QueryDecodable {
  @_disfavoredOverload
  public func count(distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>) -> SQLQueryExpression<Int> {
    count(distinct: isDistinct, filter: filter._isTrue)
  }

  @_disfavoredOverload
  public func max(filter: some QueryExpression<Bool?>) -> SQLQueryExpression<QueryValue._Optionalized> {
    max(filter: filter._isTrue)
  }

  @_disfavoredOverload
  public func min(filter: some QueryExpression<Bool?>) -> SQLQueryExpression<QueryValue._Optionalized> {
    min(filter: filter._isTrue)
  }

  @_disfavoredOverload
  public func avg(
    distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<Double?> where QueryValue: _NumericValue {
    avg(distinct: isDistinct, filter: filter._isTrue)
  }

  @_disfavoredOverload
  public func sum(
    distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<QueryValue._Optionalized> where QueryValue: _NumericValue {
    sum(distinct: isDistinct, filter: filter._isTrue)
  }

  @_disfavoredOverload
  public func total(
    distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<Double> where QueryValue: _NumericValue {
    total(distinct: isDistinct, filter: filter._isTrue)
  }

  /// The condition as a parameter of the aggregates takes it. Its SQL is the same.
  fileprivate var _isTrue: SQLQueryExpression<Bool> { SQLQueryExpression(queryFragment) }
}

extension QueryExpression where QueryValue: QueryBindable {
  @_disfavoredOverload
  public func groupConcat(
    _ separator: (some QueryExpression<String>)? = String?.none,
    order: (some QueryExpression)? = OrderingTerm?.none, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<String?> {
    groupConcat(separator, order: order, filter: filter._isTrue)
  }
}

extension QueryExpression where QueryValue: QueryBindable, QueryValue.QueryOutput: Codable {
  @_disfavoredOverload
  public func jsonGroupArray(
    distinct isDistinct: Bool = false,
    order: (some QueryExpression)? = OrderingTerm?.none, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<[QueryValue.QueryOutput].JSONRepresentation> {
    jsonGroupArray(distinct: isDistinct, order: order, filter: filter._isTrue)
  }
}

extension Optional.TableColumns where Wrapped: PrimaryKeyedTable & Codable {
  @_disfavoredOverload
  public func jsonGroupArray(
    distinct isDistinct: Bool = false,
    order: (some QueryExpression)? = OrderingTerm?.none, filter: some QueryExpression<Bool?>
  ) -> SQLQueryExpression<[Wrapped].JSONRepresentation> {
    jsonGroupArray(distinct: isDistinct, order: order, filter: filter._isTrue)
  }
}

extension PrimaryKeyedTableDefinition {
  @_disfavoredOverload
  public func count(distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>) -> SQLQueryExpression<Int> {
    count(distinct: isDistinct, filter: filter._isTrue)
  }
}

extension Optional.TableColumns where Wrapped: PrimaryKeyedTable {
  @_disfavoredOverload
  public func count(distinct isDistinct: Bool = false, filter: some QueryExpression<Bool?>) -> SQLQueryExpression<Int> {
    count(distinct: isDistinct, filter: filter._isTrue)
  }
}

@_disfavoredOverload
public func countAll(filter: some QueryExpression<Bool?>) -> SQLQueryExpression<Int> {
  countAll(filter: filter._isTrue)
}
