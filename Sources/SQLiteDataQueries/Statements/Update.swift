// swift-format-ignore-file: AmbiguousTrailingClosureOverload

/// An UPDATE statement.
///
/// An update that sets nothing is empty, and running it does nothing.
public struct Update<From: Table, Returning>: Statement, Sendable {
  public typealias QueryValue = Returning

  var conflictResolution: ConflictResolution?
  var assignments = QueryFragment()
  var conditions: [QueryFragment] = []
  var isNone = false
  var returning = ReturningClause()

  public var query: QueryFragment {
    guard !assignments.isEmpty, !isNone else { return QueryFragment() }
    var fragment: QueryFragment = "UPDATE "
    if let conflictResolution { fragment.append(raw: "OR \(conflictResolution.sql) ") }
    fragment.append(From._sourceFragment)
    fragment.append(raw: "\nSET ")
    fragment.append(assignments)
    fragment.append(conditions: conditions, after: "\nWHERE ")
    returning.append(to: &fragment)
    return fragment
  }

  private func returning<NewReturning>(_ columns: [QueryFragment]) -> Update<From, NewReturning> {
    var result = Update<From, NewReturning>()
    result.conflictResolution = conflictResolution
    result.assignments = assignments
    result.conditions = conditions
    result.isNone = isNone
    result.returning = ReturningClause(columns, of: From.self)
    return result
  }

  /// Returns a column, or all columns, of each updated row.
  ///
  /// ```swift
  /// Reminder.find(1).update { $0.title = "Get milk" }.returning(\.title)
  /// // UPDATE "reminders"
  /// // SET "title" = 'Get milk'
  /// // WHERE ("reminders"."id") IN ((1))
  /// // RETURNING "title"
  /// ```
  public func returning<C: QueryExpression>(
    _ selection: KeyPath<From.TableColumns, C>
  ) -> Update<From, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([From.columns[keyPath: selection].queryFragment])
  }

  /// Returns an expression of each updated row.
  public func returning<C: QueryExpression>(
    _ selection: (From.TableColumns) -> C
  ) -> Update<From, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([selection(From.columns).queryFragment])
  }

  /// Returns several expressions of each updated row.
  public func returning<C1: QueryExpression, C2: QueryExpression, each C3: QueryExpression>(
    _ selection: (From.TableColumns) -> (C1, C2, repeat each C3)
  ) -> Update<From, (C1.QueryValue, C2.QueryValue, repeat (each C3).QueryValue)>
  where
    C1.QueryValue: QueryRepresentable, C2.QueryValue: QueryRepresentable,
    repeat (each C3).QueryValue: QueryRepresentable
  {
    returning(_fragments(of: selection, From.columns))
  }

  /// Updates only the rows for which conditions hold.
  ///
  /// ```swift
  /// Reminder.update { $0.title = "Get milk" }.where { $0.id.eq(1) }
  /// // UPDATE "reminders"
  /// // SET "title" = 'Get milk'
  /// // WHERE ("reminders"."id") = (1)
  /// ```
  public func `where`(@QueryFragmentBuilder<Bool> _ predicate: (From.TableColumns) -> [QueryFragment]) -> Self {
    var result = self
    result.conditions += predicate(From.columns)
    return result
  }

  /// Updates only the rows for which a column is true.
  public func `where`<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<From.TableColumns, Predicate>
  ) -> Self {
    var result = self
    result.conditions.append(From.columns[keyPath: keyPath].queryFragment)
    return result
  }
}

public typealias UpdateOf<From: Table> = Update<From, ()>

extension Table {
  /// Updates all rows of the table's default scope.
  ///
  /// ```swift
  /// Reminder.update { $0.isCompleted = true }
  /// // UPDATE "reminders"
  /// // SET "isCompleted" = 1
  /// ```
  public static func update(
    or conflictResolution: ConflictResolution? = nil, set updates: (inout Updates<Self>) -> Void
  ) -> UpdateOf<Self> {
    Where<Self>(scope: .table).update(or: conflictResolution, set: updates)
  }
}

extension Where {
  /// Updates the rows that fulfil the conditions.
  ///
  /// ```swift
  /// Reminder.find(1).update { $0.isCompleted.toggle() }
  /// // UPDATE "reminders"
  /// // SET "isCompleted" = NOT ("reminders"."isCompleted")
  /// // WHERE ("reminders"."id") IN ((1))
  /// ```
  public func update(
    or conflictResolution: ConflictResolution? = nil, set updates: (inout Updates<From>) -> Void
  ) -> UpdateOf<From> {
    var assignments = Updates<From>()
    updates(&assignments)
    return UpdateOf<From>(
      conflictResolution: conflictResolution, assignments: assignments.fragment, conditions: conditions,
      isNone: scope == .none)
  }
}

extension PrimaryKeyedTable {
  /// Writes all columns of a row, which its primary key finds.
  ///
  /// ```swift
  /// RemindersList.update(RemindersList(id: 1, title: "Personal"))
  /// // UPDATE "remindersLists"
  /// // SET "title" = 'Personal', "color" = NULL, "position" = 0
  /// // WHERE ("remindersLists"."id") = (1)
  /// ```
  public static func update(or conflictResolution: ConflictResolution? = nil, _ row: Self) -> UpdateOf<Self> {
    var encoder = RowEncoder(.fragments)
    row._encode(into: &encoder)
    let keys = columns.primaryKey._tableColumns.map(\.name)
    var assignments = Updates<Self>()
    for (column, value) in zip(TableColumns.writableColumns, encoder.values) where !keys.contains(column.name) {
      assignments.set(column.name, value)
    }
    return UpdateOf<Self>(
      conflictResolution: conflictResolution, assignments: assignments.fragment,
      conditions: ["(\(columns.primaryKey)) = (\(_joined(row._keyFragments, ", ")))"])
  }
}
