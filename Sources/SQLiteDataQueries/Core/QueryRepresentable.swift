/// A type that has a form in a database and a form in Swift.
///
/// For most types both forms are the same type. A representation like `Date.UnixTimeRepresentation` has
/// another type as its ``QueryOutput``.
public protocol QueryRepresentable<QueryOutput>: QueryDecodable {
  /// The type that Swift code works with.
  associatedtype QueryOutput

  init(queryOutput: QueryOutput)

  var queryOutput: QueryOutput { get }
}

extension QueryRepresentable where QueryOutput == Self {
  @inlinable
  public init(queryOutput: Self) { self = queryOutput }

  @inlinable
  public var queryOutput: Self { self }
}

/// A representable type that fits into one placeholder of a statement.
public protocol QueryBindable: QueryRepresentable, QueryExpression
where QueryValue: QueryBindable, _Optionalized: QueryBindable {
  associatedtype QueryValue = Self

  var queryBinding: QueryBinding { get }

  /// Whether the SQL of every value is a placeholder for its binding, so that rows can be written without their SQL.
  static var _isPlaceholder: Bool { get }
}

extension QueryBindable {
  @inlinable
  public static var _isPlaceholder: Bool { false }

  @inlinable
  public var _boundValue: QueryBinding? { Self._isPlaceholder ? queryBinding : nil }

  public var queryFragment: QueryFragment { QueryFragment(queryBinding) }
}
