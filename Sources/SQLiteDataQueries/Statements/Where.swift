// swift-format-ignore-file: AmbiguousTrailingClosureOverload

/// The rows of a table that fulfil conditions.
///
/// It is the start of a select, an update or a delete.
@dynamicMemberLookup
public struct Where<From: Table>: SelectStatement, Sendable {
  public typealias QueryValue = ()
  public typealias Joins = ()

  /// Which rows of the table the conditions choose from.
  enum Scope: Sendable {
    case all
    case table
    case none
  }

  var predicates: [QueryFragment] = []
  var scope = Scope.all

  /// Whether the query has no conditions.
  @usableFromInline
  var _isWholeTable: Bool { predicates.isEmpty && scope == .all }

  init(_ predicates: [QueryFragment] = [], scope: Scope = .all) {
    self.predicates = predicates
    self.scope = scope
  }

  public func asSelect() -> Select<(), From, ()> {
    var select = scope == .table ? Self.tableScope : Select<(), From, ()>()
    select.clauses.where = conditions
    select.clauses.isNone = scope == .none
    return select
  }

  /// The conditions of an update or delete, with those of the table's default scope.
  var conditions: [QueryFragment] {
    guard scope == .table else { return predicates }
    let scope = Self.tableScope.clauses.where
    // The table's scope itself, and what is made from it, has these conditions already.
    return predicates.starts(with: scope) ? predicates : scope + predicates
  }

  /// The table's default scope as a select.
  private static var tableScope: Select<(), From, ()> {
    // A scope that was defined as `Self.where { … }` refers to the table's scope, and that is itself.
    if let scope = From.all as? Where<From> { return Where(scope.predicates).asSelect() }
    return From.all.asSelect()
  }

  /// Keeps the rows for which a column is true.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).where(\.isFlagged)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND ("reminders"."isFlagged")
  /// ```
  public func `where`<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<From.TableColumns, Predicate>
  ) -> Self {
    Where(predicates + [From.columns[keyPath: keyPath].queryFragment], scope: scope)
  }

  /// Keeps the rows for which conditions hold. Its closure may contain `if` and `switch`.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).where { $0.id.gt(1) }
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND (("reminders"."id") > (1))
  /// ```
  public func `where`(
    @QueryFragmentBuilder<Bool> _ predicate: (From.TableColumns) -> [QueryFragment]
  ) -> Self {
    Where(predicates + predicate(From.columns), scope: scope)
  }

  /// Keeps the rows that both queries keep.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).and(Reminder.where(\.isFlagged))
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND ("reminders"."isFlagged")
  /// ```
  public func and(_ other: Self) -> Self {
    Where(predicates + other.predicates, scope: other.scope == .none ? .none : scope)
  }

  /// Keeps the rows that at least one of the queries keeps.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).or(Reminder.where(\.isFlagged))
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") OR ("reminders"."isFlagged")
  /// ```
  public func or(_ other: Self) -> Self {
    if scope == .none { return other }
    if other.scope == .none || predicates.isEmpty { return self }
    if other.predicates.isEmpty { return other }
    return Where(["(\(_all(predicates))) OR (\(_all(other.predicates)))"], scope: scope)
  }

  /// Keeps the rows that the query leaves out.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).not()
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE NOT ("reminders"."isCompleted")
  /// ```
  public func not() -> Self {
    Where(["NOT (\(predicates.isEmpty ? "1" : _all(predicates)))"], scope: scope)
  }

  /// The operator form of ``and(_:)``.
  public static func && (lhs: Self, rhs: Self) -> Self { lhs.and(rhs) }

  /// The operator form of ``or(_:)``.
  public static func || (lhs: Self, rhs: Self) -> Self { lhs.or(rhs) }

  /// The operator form of ``not()``.
  public static prefix func ! (where: Self) -> Self { `where`.not() }
}

/// Returns the condition that holds if all conditions hold.
private func _all(_ predicates: [QueryFragment]) -> QueryFragment {
  var fragment = QueryFragment()
  fragment.append(conditions: predicates, after: "")
  return fragment
}

extension PrimaryKeyedTable {
  /// The SQL that finds the row with a primary key, and the value that it binds.
  ///
  /// Returns nil if the table has a default scope or a key of several columns, or if the key isn't a bound value.
  @inlinable
  public static func _findStatement(_ key: some QueryExpression<PrimaryKey>) -> (sql: String, value: QueryBinding)? {
    guard let value = key._boundValue, let all = all as? Where<Self>, all._isWholeTable, let sql = TableColumns._findSQL
    else { return nil }
    return (sql, value)
  }

  /// The row with a primary key.
  ///
  /// ```swift
  /// Reminder.find(1)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."id") IN ((1))
  /// ```
  public static func find(_ primaryKey: some QueryExpression<PrimaryKey>) -> Where<Self> {
    Where(scope: .table).find(primaryKey)
  }

  /// The row with a primary key in the form that a row has it, such as a key of several columns.
  ///
  /// ```swift
  /// try Enrollment.find(.init(studentID: 1, courseID: 2)).fetchOne(db)
  /// ```
  @_disfavoredOverload
  public static func find(_ primaryKey: PrimaryKey.QueryOutput) -> Where<Self> {
    Where(scope: .table).find(primaryKey)
  }

  /// The rows with primary keys.
  ///
  /// ```swift
  /// Reminder.find([1, 2])
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."id") IN ((1), (2))
  /// ```
  public static func find<Keys: Sequence>(_ primaryKeys: Keys) -> Where<Self>
  where Keys.Element: QueryExpression, Keys.Element.QueryValue == PrimaryKey {
    Where(scope: .table).find(primaryKeys)
  }

  /// The rows with primary keys in the form that a row has them.
  @_disfavoredOverload
  public static func find(_ primaryKeys: [PrimaryKey.QueryOutput]) -> Where<Self> {
    Where(scope: .table).find(primaryKeys)
  }
}

extension Where where From: PrimaryKeyedTable {
  /// The row with a primary key, if it fulfils the conditions.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).find(1)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND (("reminders"."id") IN ((1)))
  /// ```
  public func find(_ primaryKey: some QueryExpression<From.PrimaryKey>) -> Self {
    find([primaryKey])
  }

  /// The rows with primary keys that fulfil the conditions.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).find([1, 2])
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND (("reminders"."id") IN ((1), (2)))
  /// ```
  public func find<Keys: Sequence>(_ primaryKeys: Keys) -> Self
  where Keys.Element: QueryExpression, Keys.Element.QueryValue == From.PrimaryKey {
    Where(predicates + [From.columns.primaryKey.in(primaryKeys).queryFragment], scope: scope)
  }

  /// The row with a primary key in the form that a row has it, if it fulfils the conditions.
  @_disfavoredOverload
  public func find(_ primaryKey: From.PrimaryKey.QueryOutput) -> Self { find([primaryKey]) }

  /// The rows with primary keys in the form that a row has them, if they fulfil the conditions.
  @_disfavoredOverload
  public func find(_ primaryKeys: [From.PrimaryKey.QueryOutput]) -> Self {
    find(primaryKeys.map(From.PrimaryKey.init(queryOutput:)))
  }
}

extension SelectStatement where From: PrimaryKeyedTable {
  /// The row with a primary key, if the query has it.
  ///
  /// ```swift
  /// Reminder.order(by: \.title).find(1)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."id") IN ((1))
  /// // ORDER BY "reminders"."title"
  /// ```
  @_disfavoredOverload
  public func find(_ primaryKey: some QueryExpression<From.PrimaryKey>) -> Select<QueryValue, From, Joins> {
    asSelect().filtering([From.columns.primaryKey.in([primaryKey]).queryFragment])
  }

  /// The row with a primary key in the form that a row has it, if the query has it.
  @_disfavoredOverload
  public func find(_ primaryKey: From.PrimaryKey.QueryOutput) -> Select<QueryValue, From, Joins> {
    find(From.PrimaryKey(queryOutput: primaryKey))
  }
}
