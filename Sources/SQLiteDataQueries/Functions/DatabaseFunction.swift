/// A Swift function that SQL can call.
///
/// Don't conform to this protocol by hand: attach the `@DatabaseFunction` macro to a function instead.
public protocol DatabaseFunction<Input, Output>: Sendable {
  /// The type of the arguments: one type, or a tuple of them.
  associatedtype Input
  /// The type of the result, or `()`.
  associatedtype Output

  /// The name by which SQL calls the function.
  var name: String { get }

  /// The number of arguments, or nil for any number.
  var argumentCount: Int? { get }

  /// Whether equal arguments always give the same result. SQLite then calls the function less often, and allows it in
  /// indexes and generated columns.
  var isDeterministic: Bool { get }
}

/// A function that SQL calls for each row.
public protocol ScalarDatabaseFunction<Input, Output>: DatabaseFunction {
  /// Reads the arguments, runs the function, and returns its result.
  func invoke(_ decoder: inout some QueryDecoder) throws -> QueryBinding
}

/// A function that SQL calls for each group of rows.
public protocol AggregateDatabaseFunction<Input, Output>: DatabaseFunction {
  /// The arguments of one row.
  associatedtype Element

  /// Reads the arguments of one row.
  func step(_ decoder: inout some QueryDecoder) throws -> Element

  /// Runs the function over the rows of a group.
  func invoke(_ rows: some Sequence<Element>) throws -> QueryBinding
}

extension DatabaseFunction {
  /// Makes a call of the function.
  ///
  /// The `@DatabaseFunction` macro generates methods that take expressions of the right types and call this one.
  public func _call<each Argument: QueryExpression>(_ argument: repeat each Argument) -> SQLQueryExpression<Output> {
    SQLQueryExpression("\(quote: name)(\(_fragments(repeat each argument).joined(separator: ", ")))")
  }
}

extension AggregateDatabaseFunction {
  /// Makes a call of the function over the rows of a group.
  public func _call<each Argument: QueryExpression>(
    _ argument: repeat each Argument, distinct isDistinct: Bool = false, order: (some QueryExpression)?,
    filter: (some QueryExpression<Bool>)?
  ) -> SQLQueryExpression<Output> {
    var fragment: QueryFragment = "\(quote: name)(\(raw: isDistinct ? "DISTINCT " : "")"
    fragment.append(_fragments(repeat each argument).joined(separator: ", "))
    fragment.append(aggregateOrder: order?.queryFragment, filter: filter?.queryFragment)
    return SQLQueryExpression(fragment)
  }
}

extension QueryFragment {
  /// Ends the call of an aggregate.
  mutating func append(aggregateOrder order: QueryFragment?, filter: QueryFragment?) {
    if let order {
      append(raw: " ORDER BY ")
      append(order)
    }
    append(raw: ")")
    if let filter {
      append(raw: " FILTER (WHERE ")
      append(filter)
      append(raw: ")")
    }
  }
}
