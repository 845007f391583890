// A query that an extension of a table names can be added to every query of that table:
//
//     extension Reminder {
//       static let flagged = Self.where(\.isFlagged)
//       static let byTitle = Self.order(by: \.title)
//     }

extension Where {
  /// Keeps the rows that a named query of the table keeps as well.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).flagged
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."isCompleted") AND ("reminders"."isFlagged")
  /// ```
  public subscript(dynamicMember keyPath: KeyPath<From.Type, Where<From>>) -> Where<From> {
    and(From.self[keyPath: keyPath])
  }

  /// Adds the clauses, joins and selection of a named query of the table.
  public subscript<Columns, Joins>(
    dynamicMember keyPath: KeyPath<From.Type, Select<Columns, From, Joins>>
  ) -> Select<Columns, From, Joins> {
    asSelect().combining(From.self[keyPath: keyPath])
  }
}

extension Select {
  /// Keeps the rows that a named query of the table keeps as well.
  ///
  /// ```swift
  /// Reminder.select(\.title).flagged
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// // WHERE "reminders"."isFlagged"
  /// ```
  public subscript(dynamicMember keyPath: KeyPath<From.Type, Where<From>>) -> Self {
    combining(From.self[keyPath: keyPath].asSelect())
  }

  /// Adds the clauses of a named query of the table.
  ///
  /// ```swift
  /// Reminder.select(\.title).byTitle
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// // ORDER BY "reminders"."title"
  /// ```
  public subscript(dynamicMember keyPath: KeyPath<From.Type, Select<(), From, ()>>) -> Self {
    combining(From.self[keyPath: keyPath])
  }
}

extension Select where Columns == (), Joins == () {
  /// Adds the clauses, joins and selection of a named query of the table.
  public subscript<NewColumns, NewJoins>(
    dynamicMember keyPath: KeyPath<From.Type, Select<NewColumns, From, NewJoins>>
  ) -> Select<NewColumns, From, NewJoins> {
    combining(From.self[keyPath: keyPath])
  }
}

extension Select {
  /// Adds the clauses, joins and selection of a named query of the table to those of this query.
  ///
  /// ```swift
  /// Reminder.select(\.id).titles
  /// // SELECT "reminders"."id", "reminders"."title"
  /// // FROM "reminders"
  /// ```
  @_disfavoredOverload
  public subscript<
    each C1: QueryRepresentable, each C2: QueryRepresentable, each J1: Table, each J2: Table
  >(
    dynamicMember keyPath: KeyPath<From.Type, Select<(repeat each C2), From, (repeat each J2)>>
  ) -> Select<(repeat each C1, repeat each C2), From, (repeat each J1, repeat each J2)>
  where Columns == (repeat each C1), Joins == (repeat each J1) {
    combining(From.self[keyPath: keyPath])
  }
}
