/// A type whose values are the rows of a table.
///
/// Don't conform to this protocol by hand: attach the `@Table` macro to a structure instead.
@dynamicMemberLookup
public protocol Table: QueryRepresentable, PartialSelectStatement
where QueryOutput == Self, QueryValue == Self, _Optionalized: Table {
  /// The type that describes the columns of the table.
  associatedtype TableColumns: TableDefinition where TableColumns.QueryValue == Self

  /// The type of ``all``.
  associatedtype DefaultScope: SelectStatement<(), Self, ()>

  /// The columns of the table.
  static var columns: TableColumns { get }

  /// The name of the table.
  static var tableName: String { get }

  /// Another name that a query gives to the table.
  static var tableAlias: String? { get }

  /// The name of the attached database that holds the table.
  static var schemaName: String? { get }

  /// The query that all queries of the table start from.
  ///
  /// Define it yourself to give the table a default scope:
  ///
  /// ```swift
  /// extension Reminder {
  ///   static let all = Self.where { !$0.isDeleted }
  /// }
  /// ```
  static var all: DefaultScope { get }

  /// Writes the values of the row's writable columns in the order of ``TableDefinition/writableColumns``.
  func _encode(into encoder: inout RowEncoder)
}

extension Table {
  public static var tableAlias: String? { nil }

  public static var schemaName: String? { nil }

  @_disfavoredOverload
  public static var all: Where<Self> { Where() }

  /// All rows of the table, without its default scope.
  ///
  /// ```swift
  /// Reminder.unscoped
  /// // SELECT … FROM "reminders"
  /// ```
  public static var unscoped: Where<Self> { Where() }

  /// No row of the table.
  ///
  /// An observed property that loads this query becomes empty without running SQL.
  public static var none: Where<Self> { Where(scope: .none) }

  /// The column with the name of a property, or a group of columns.
  public static subscript<Member>(dynamicMember keyPath: KeyPath<TableColumns, Member>) -> Member {
    columns[keyPath: keyPath]
  }

  /// The name by which the columns of the table are qualified.
  static var _qualifier: String { tableAlias ?? tableName }

  /// The table as it stands after FROM, with its schema but without its alias.
  static var _fromFragment: QueryFragment {
    var fragment = QueryFragment()
    if let schemaName {
      fragment.append(quote: schemaName)
      fragment.append(raw: ".")
    }
    fragment.append(quote: tableName)
    return fragment
  }

  /// The table as it stands after FROM or JOIN, with its schema and its alias.
  static var _sourceFragment: QueryFragment {
    var fragment = _fromFragment
    if let tableAlias {
      fragment.append(raw: " AS ")
      fragment.append(quote: tableAlias)
    }
    return fragment
  }

  /// The columns of the table as a query selects them.
  static var _selectionFragment: QueryFragment { TableColumns._selection }

  /// The values of the row, separated by commas.
  public var queryFragment: QueryFragment {
    var encoder = RowEncoder(.list, includesGenerated: true)
    _encode(into: &encoder)
    return encoder.fragment
  }

  public var _allColumns: [any QueryExpression] {
    var encoder = RowEncoder(.fragments, includesGenerated: true)
    _encode(into: &encoder)
    return encoder.values.map { SQLQueryExpression<()>($0) }
  }

  /// A query that selects the values of the row.
  public var query: QueryFragment {
    var fragment: QueryFragment = "SELECT "
    fragment.append(_aliased(_allColumns, as: TableColumns.allColumns))
    return fragment
  }
}

/// Collects the values of one row for an INSERT.
///
/// The `@Table` macro calls `encode` once for each column.
public struct RowEncoder {
  /// The form that the values get.
  enum Form {
    /// One fragment, with commas between the values.
    case list
    /// A fragment for each value.
    case fragments
    /// A placeholder for each value, if the SQL of each is one.
    case placeholders
    /// A bound value of a prepared statement for each value, if the SQL of each is a placeholder.
    case statement
  }

  /// The values, separated by commas.
  private(set) var fragment = QueryFragment()

  /// The values one by one.
  private(set) var values: [QueryFragment] = []

  /// The values as placeholders in a row, as in `(?, ?)`.
  private var placeholders: [QueryFragment.Placeholder] = []

  /// The place of the next placeholder.
  private var offset = 0

  /// The prepared statement to which the values are bound.
  private var statement: (any _BindingStatement)?

  /// Whether the SQL of each value so far is a placeholder.
  public private(set) var isPlain = true

  private let includesGenerated: Bool
  private let form: Form

  init(_ form: Form, includesGenerated: Bool = false) {
    self.form = form
    self.includesGenerated = includesGenerated
  }

  /// Creates an encoder that appends to placeholders, until `finish(_:)` gives them back.
  init(appendingTo placeholders: inout [QueryFragment.Placeholder], firstOffset: Int) {
    self.init(.placeholders)
    offset = firstOffset
    swap(&self.placeholders, &placeholders)
  }

  /// Creates an encoder that binds the values of one row after another to a prepared statement.
  public init(bindingTo statement: any _BindingStatement) {
    self.init(.statement)
    self.statement = statement
  }

  /// Gives back the placeholders.
  mutating func finish(_ placeholders: inout [QueryFragment.Placeholder]) {
    swap(&self.placeholders, &placeholders)
  }

  /// Adds the value of a column.
  @inlinable
  public mutating func encode<Value: QueryBindable>(_ type: Value.Type, _ value: Value.QueryOutput) {
    add(Value(queryOutput: value))
  }

  /// Adds the value of a column that is its own representation.
  @inlinable
  public mutating func encode<Value: QueryBindable>(_ value: Value) where Value.QueryOutput == Value {
    add(value)
  }

  /// Adds the values of a group of columns.
  public mutating func encode<Value: Table>(_ type: Value.Type, _ value: Value) {
    value._encode(into: &self)
  }

  /// Adds the values of a group of columns.
  public mutating func encode<Value: Table>(_ value: Value) {
    value._encode(into: &self)
  }

  /// Adds the value of a generated column, which an INSERT leaves out.
  public mutating func encodeGenerated<Value: QueryBindable>(_ type: Value.Type, _ value: Value.QueryOutput) {
    if includesGenerated { add(Value(queryOutput: value)) }
  }

  /// Adds a NULL for each writable column of a group.
  public mutating func encodeNull<Value: Table>(_ type: Value.Type) {
    let count = includesGenerated ? Value.TableColumns.allColumns.count : Value.TableColumns.writableColumns.count
    for _ in 0..<count { add(QueryBinding.null) }
  }

  @inlinable
  mutating func add<Value: QueryBindable>(_ value: Value) {
    if Value._isPlaceholder { add(value.queryBinding) } else { add(value.queryFragment) }
  }

  @usableFromInline
  mutating func add(_ binding: QueryBinding) {
    switch form {
    case .placeholders:
      placeholders.append(QueryFragment.Placeholder(offset: offset, binding: binding))
      offset += 3
    case .statement: statement?.bind(binding)
    case .fragments: values.append(QueryFragment(binding))
    case .list:
      if !fragment.isEmpty { fragment.append(raw: ", ") }
      fragment.append(binding)
    }
  }

  @usableFromInline
  mutating func add(_ value: QueryFragment) {
    switch form {
    case .placeholders, .statement: isPlain = false
    case .fragments: values.append(value)
    case .list:
      if !fragment.isEmpty { fragment.append(raw: ", ") }
      fragment.append(value)
    }
  }
}

/// A prepared statement that takes the values of a row one after another.
public protocol _BindingStatement: AnyObject {
  func bind(_ binding: QueryBinding)
}
