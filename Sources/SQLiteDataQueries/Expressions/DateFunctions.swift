extension QueryExpression where QueryValue: QueryDecodable {
  /// The day of a date, as text.
  ///
  /// ```swift
  /// Reminder.where { $0.dueDate.date().eq(currentDate()) }
  /// // … WHERE (date("reminders"."dueDate")) = (date('now'))
  /// ```
  ///
  /// - Parameter modifiers: Changes of the date as SQLite writes them, for example `"+1 day"`.
  public func date(_ modifiers: String...) -> SQLQueryExpression<String?> { _date("date", modifiers) }

  /// The time of a date, as text.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.time("+1 hour") }
  /// // SELECT time("reminders"."dueDate", '+1 hour') …
  /// ```
  public func time(_ modifiers: String...) -> SQLQueryExpression<String?> { _date("time", modifiers) }

  /// The day and time of a date, as text.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.datetime() }
  /// // SELECT datetime("reminders"."dueDate") …
  /// ```
  public func datetime(_ modifiers: String...) -> SQLQueryExpression<String?> { _date("datetime", modifiers) }

  /// The Julian day of a date.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.julianday() }
  /// // SELECT julianday("reminders"."dueDate") …
  /// ```
  public func julianday(_ modifiers: String...) -> SQLQueryExpression<Double?> { _date("julianday", modifiers) }

  /// The seconds of a date since 1970-01-01.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.unixepoch() }
  /// // SELECT unixepoch("reminders"."dueDate") …
  /// ```
  public func unixepoch(_ modifiers: String...) -> SQLQueryExpression<Int?> { _date("unixepoch", modifiers) }

  /// A date in a format of the C function `strftime`.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.strftime("%Y") }
  /// // SELECT strftime('%Y', "reminders"."dueDate") …
  /// ```
  public func strftime(_ format: String, _ modifiers: String...) -> SQLQueryExpression<String?> {
    let arguments = [format.queryFragment, queryFragment] + modifiers.map(\.queryFragment)
    return SQLQueryExpression("strftime(\(arguments.joined(separator: ", ")))")
  }

  private func _date<Value>(_ name: String, _ modifiers: [String]) -> SQLQueryExpression<Value> {
    let arguments = [queryFragment] + modifiers.map(\.queryFragment)
    return SQLQueryExpression("\(raw: name)(\(arguments.joined(separator: ", ")))")
  }
}

/// Today's date in UTC, as text.
public func currentDate() -> SQLQueryExpression<String?> { SQLQueryExpression("date('now')") }
