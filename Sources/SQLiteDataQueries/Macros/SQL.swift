/// Makes an expression or a statement of SQL.
///
/// ```swift
/// #sql("SELECT \(Reminder.columns) FROM \(Reminder.self) WHERE \(Reminder.id) = \(id)", as: Reminder.self)
/// // SELECT "reminders"."id", … FROM "reminders" WHERE "reminders"."id" = ?
/// ```
///
/// Interpolated values are bound. `\(raw:)` inserts text as it is, and `\(quote:)` inserts a quoted name. The compiler
/// reports quotes and parentheses that don't match.
///
/// - Parameters:
///   - queryFragment: The SQL.
///   - queryValueType: The type that a row is read as. The context can give it too.
@freestanding(expression)
public macro sql<QueryValue>(
  _ queryFragment: QueryFragment, as queryValueType: QueryValue.Type = QueryValue.self
) -> SQLQueryExpression<QueryValue> = #externalMacro(module: "SQLiteDataMacros", type: "SQLMacro")

/// Makes a statement of SQL that returns no rows.
///
/// ```swift
/// #sql("PRAGMA optimize")
/// ```
///
/// - Parameter queryFragment: The SQL.
@freestanding(expression)
public macro sql(_ queryFragment: QueryFragment) -> SQLQueryExpression<()> =
  #externalMacro(module: "SQLiteDataMacros", type: "SQLMacro")

/// Makes an expression that binds a Swift value.
///
/// ```swift
/// Reminder.where { $0.dueAt > #bind(now) }
/// Reminder.update { $0.dueAt = #bind(date, as: Date.UnixTimeRepresentation.self) }
/// ```
///
/// - Parameters:
///   - queryOutput: The value.
///   - queryValueType: The type that is stored, if the context doesn't give it.
@freestanding(expression)
public macro bind<QueryValue: QueryBindable>(
  _ queryOutput: QueryValue.QueryOutput, as queryValueType: QueryValue.Type = QueryValue.self
) -> BindQueryExpression<QueryValue> = #externalMacro(module: "SQLiteDataMacros", type: "BindMacro")
