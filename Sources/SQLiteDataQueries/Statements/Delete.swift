// swift-format-ignore-file: AmbiguousTrailingClosureOverload

/// A DELETE statement.
public struct Delete<From: Table, Returning>: Statement, Sendable {
  public typealias QueryValue = Returning

  var conditions: [QueryFragment] = []
  var isNone = false
  var returning = ReturningClause()

  public var query: QueryFragment {
    guard !isNone else { return QueryFragment() }
    var fragment: QueryFragment = "DELETE FROM "
    fragment.append(From._sourceFragment)
    fragment.append(conditions: conditions, after: "\nWHERE ")
    returning.append(to: &fragment)
    return fragment
  }

  private func returning<NewReturning>(_ columns: [QueryFragment]) -> Delete<From, NewReturning> {
    Delete<From, NewReturning>(
      conditions: conditions, isNone: isNone, returning: ReturningClause(columns, of: From.self))
  }

  /// Returns a column, or all columns, of each deleted row.
  ///
  /// ```swift
  /// Reminder.find(1).delete().returning(\.title)
  /// // DELETE FROM "reminders"
  /// // WHERE ("reminders"."id") IN ((1))
  /// // RETURNING "title"
  /// ```
  public func returning<C: QueryExpression>(
    _ selection: KeyPath<From.TableColumns, C>
  ) -> Delete<From, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([From.columns[keyPath: selection].queryFragment])
  }

  /// Returns an expression of each deleted row.
  public func returning<C: QueryExpression>(
    _ selection: (From.TableColumns) -> C
  ) -> Delete<From, C.QueryValue> where C.QueryValue: QueryRepresentable {
    returning([selection(From.columns).queryFragment])
  }

  /// Returns several expressions of each deleted row.
  public func returning<C1: QueryExpression, C2: QueryExpression, each C3: QueryExpression>(
    _ selection: (From.TableColumns) -> (C1, C2, repeat each C3)
  ) -> Delete<From, (C1.QueryValue, C2.QueryValue, repeat (each C3).QueryValue)>
  where
    C1.QueryValue: QueryRepresentable, C2.QueryValue: QueryRepresentable,
    repeat (each C3).QueryValue: QueryRepresentable
  {
    returning(_fragments(of: selection, From.columns))
  }

  /// Deletes only the rows for which conditions hold.
  ///
  /// ```swift
  /// Reminder.delete().where { $0.id.eq(1) }
  /// // DELETE FROM "reminders"
  /// // WHERE ("reminders"."id") = (1)
  /// ```
  public func `where`(@QueryFragmentBuilder<Bool> _ predicate: (From.TableColumns) -> [QueryFragment]) -> Self {
    var result = self
    result.conditions += predicate(From.columns)
    return result
  }

  /// Deletes only the rows for which a column is true.
  public func `where`<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<From.TableColumns, Predicate>
  ) -> Self {
    var result = self
    result.conditions.append(From.columns[keyPath: keyPath].queryFragment)
    return result
  }
}

public typealias DeleteOf<From: Table> = Delete<From, ()>

extension Table {
  /// Deletes all rows of the table's default scope.
  ///
  /// ```swift
  /// Reminder.delete()
  /// // DELETE FROM "reminders"
  /// ```
  public static func delete() -> DeleteOf<Self> { Where<Self>(scope: .table).delete() }
}

extension Where {
  /// Deletes the rows that fulfil the conditions.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).delete()
  /// // DELETE FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func delete() -> DeleteOf<From> {
    DeleteOf<From>(conditions: conditions, isNone: scope == .none)
  }
}

extension PrimaryKeyedTable {
  /// Deletes a row, which its primary key finds.
  ///
  /// ```swift
  /// RemindersList.delete(RemindersList(id: 1, title: "Personal"))
  /// // DELETE FROM "remindersLists"
  /// // WHERE ("remindersLists"."id") = (1)
  /// ```
  public static func delete(_ row: Self) -> DeleteOf<Self> {
    DeleteOf<Self>(conditions: ["(\(columns.primaryKey)) = (\(_joined(row._keyFragments, ", ")))"])
  }
}
