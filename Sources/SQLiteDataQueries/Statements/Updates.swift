/// The assignments of an UPDATE, or of the part of an upsert that runs on a conflict.
///
/// Assign an expression, or a Swift value with `#bind`:
///
/// ```swift
/// Reminder.update {
///   $0.title = #bind("Get milk")
///   $0.priority = $0.priority + 1
/// }
/// ```
public typealias Updates<Base: Table> = ColumnUpdates<Base, Base>

/// The assignments to columns of the table `Root`: to all of them, or to a group that the `@Selection` `Base` describes.
@dynamicMemberLookup
public struct ColumnUpdates<Root: Table, Base: Table> {
  var assignments: [(column: String, value: QueryFragment)] = []

  var isEmpty: Bool { assignments.isEmpty }

  /// Sets a column to an expression.
  public mutating func set<Value>(
    _ column: some WritableTableColumnExpression<Base, Value>, _ value: some QueryExpression<Value>
  ) {
    set(column.name, value.queryFragment)
  }

  /// Sets all columns of a group.
  public mutating func set<Value: Table>(_ group: ColumnGroup<Base, Value>, _ value: Value) {
    set(group, value._allColumns)
  }

  mutating func set(_ column: String, _ value: QueryFragment) {
    if let index = assignments.firstIndex(where: { $0.column == column }) {
      assignments[index].value = value
    } else {
      assignments.append((column, value))
    }
  }

  private mutating func set(_ group: ColumnGroup<Base, some Table>, _ values: [any QueryExpression]) {
    for (column, value) in zip(group._tableColumns, values) { set(column.name, value.queryFragment) }
  }

  private func column<Value: QueryBindable>(
    _ keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> TableColumn<Root, Value> {
    TableColumn(Base.columns[keyPath: keyPath].name)
  }

  /// A column, to be used in an expression.
  public subscript<Value: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> TableColumn<Root, Value> {
    column(keyPath)
  }

  /// A column as an expression, which can be assigned.
  @_disfavoredOverload
  public subscript<Value: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> any QueryExpression<Value> {
    get { column(keyPath) }
    set { set(column(keyPath).name, newValue.queryFragment) }
  }

  /// A column that may be NULL, which can be assigned an expression that can't: `$0.notes = $0.title`.
  @_disfavoredOverload
  public subscript<Wrapped: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Wrapped?>>
  ) -> any _OperatorExpression<Wrapped> {
    @available(*, unavailable, message: "an assignment can't be read; use the column")
    get { fatalError("an assignment can't be read") }
    set { set(column(keyPath).name, newValue.queryFragment) }
  }

  /// A column that may be NULL, which can be assigned a Swift value without `#bind`: `$0.dueDate = nil`.
  @_disfavoredOverload
  public subscript<Wrapped: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Wrapped?>>
  ) -> Wrapped.QueryOutput? {
    @available(*, unavailable, message: "an assignment can't be read; use the column")
    get { fatalError("an assignment can't be read") }
    set { set(column(keyPath).name, Wrapped?(queryOutput: newValue).queryFragment) }
  }

  /// A column of raw values, which can be assigned a Swift value without `#bind`: `$0.priority = .high`.
  @_disfavoredOverload
  public subscript<Value: QueryBindable & RawRepresentable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> Value.QueryOutput {
    @available(*, unavailable, message: "an assignment can't be read; use the column")
    get { fatalError("an assignment can't be read") }
    set { set(column(keyPath).name, Value(queryOutput: newValue).queryFragment) }
  }

  /// A Boolean column, which can be toggled.
  @_disfavoredOverload
  public subscript<Value: QueryBindable & _TruthValue>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> SQLQueryExpression<Value> {
    get { SQLQueryExpression(column(keyPath).queryFragment) }
    set { set(column(keyPath).name, newValue.queryFragment) }
  }

  /// A column of numbers, which can be negated.
  @_disfavoredOverload
  public subscript<Value: _NumericValue>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> SQLQueryExpression<Value> {
    get { SQLQueryExpression(column(keyPath).queryFragment) }
    set { set(column(keyPath).name, newValue.queryFragment) }
  }

  /// A column of texts, to which a text can be appended.
  @_disfavoredOverload
  public subscript<Value: _TextValue>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> SQLQueryExpression<Value> {
    get { SQLQueryExpression(column(keyPath).queryFragment) }
    set { set(column(keyPath).name, newValue.queryFragment) }
  }

  /// A group of columns, whose columns can be assigned.
  public subscript<Value: Table>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Value>>
  ) -> ColumnUpdates<Root, Value> {
    get { ColumnUpdates<Root, Value>() }
    set { for (column, value) in newValue.assignments { set(column, value) } }
  }

  /// All columns of a group, which can be assigned: `$0.size = Size(width: 1, height: 2)`.
  @_disfavoredOverload
  public subscript<Value: Table>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Value>>
  ) -> any QueryExpression<Value> {
    get { ColumnGroup<Root, Value>() }
    set { set(Base.columns[keyPath: keyPath], newValue._allColumns) }
  }

  /// All columns of an enum, which can be assigned a case: `$0.kind = .circle(1)`.
  @_disfavoredOverload
  public subscript<Value: _CaseTable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Value>>
  ) -> Value {
    @available(*, unavailable, message: "an assignment can't be read; use the columns of the group")
    get { fatalError("an assignment can't be read") }
    set { set(Base.columns[keyPath: keyPath], newValue._allColumns) }
  }

  /// All columns of a group that may be NULL, which can be assigned: `$0.size = nil`.
  @_disfavoredOverload
  public subscript<Wrapped: Table>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Wrapped?>>
  ) -> Wrapped? {
    @available(*, unavailable, message: "an assignment can't be read; use the columns of the group")
    get { fatalError("an assignment can't be read") }
    set { set(Base.columns[keyPath: keyPath], newValue._allColumns) }
  }

  /// The assignments as they stand after SET.
  var fragment: QueryFragment {
    var fragment = QueryFragment()
    for (index, assignment) in assignments.enumerated() {
      if index > 0 { fragment.append(raw: ", ") }
      fragment.append(quote: assignment.column)
      fragment.append(raw: " = ")
      fragment.append(assignment.value)
    }
    return fragment
  }
}

extension SQLQueryExpression where QueryValue: QueryBindable & _TruthValue, QueryValue._Optionalized == Bool? {
  /// Negates a Boolean column in an update.
  ///
  /// ```swift
  /// Reminder.update { $0.isCompleted.toggle() }
  /// // UPDATE "reminders"
  /// // SET "isCompleted" = NOT ("reminders"."isCompleted")
  /// ```
  public mutating func toggle() { self = not() }
}

extension SQLQueryExpression where QueryValue: _NumericValue {
  /// Negates a number in an update.
  ///
  /// ```swift
  /// RemindersList.update { $0.position.negate() }
  /// // UPDATE "remindersLists"
  /// // SET "position" = -("remindersLists"."position")
  /// ```
  public mutating func negate() { self = -self }
}

extension SQLQueryExpression where QueryValue: _TextValue {
  /// Appends to a text in an update.
  ///
  /// ```swift
  /// Reminder.update { $0.title.append("!") }
  /// // UPDATE "reminders"
  /// // SET "title" = ("reminders"."title") || ('!')
  /// ```
  public mutating func append(_ other: some QueryExpression<QueryValue>) { self = self + other }

  /// Appends to a text in an update.
  public mutating func append(contentsOf other: some QueryExpression<QueryValue>) { append(other) }
}

/// Adds to a number in an update.
///
/// ```swift
/// RemindersList.update { $0.position += 1 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") + (1)
/// ```
public func += <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") + (", rhs.queryFragment, as: Value.self)
}

/// Appends to a text in an update.
///
/// ```swift
/// Reminder.update { $0.title += "!" }
/// // UPDATE "reminders"
/// // SET "title" = ("reminders"."title") || ('!')
/// ```
public func += <Value: _TextValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") || (", rhs.queryFragment, as: Value.self)
}

/// Subtracts from a number in an update.
///
/// ```swift
/// RemindersList.update { $0.position -= 1 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") - (1)
/// ```
public func -= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") - (", rhs.queryFragment, as: Value.self)
}

/// Multiplies a number in an update.
///
/// ```swift
/// RemindersList.update { $0.position *= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") * (2)
/// ```
public func *= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") * (", rhs.queryFragment, as: Value.self)
}

/// Divides a number in an update.
///
/// ```swift
/// RemindersList.update { $0.position /= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") / (2)
/// ```
public func /= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") / (", rhs.queryFragment, as: Value.self)
}

// The same for a column that may be NULL, with a value that can't.

/// Adds to a number that may be NULL in an update.
public func += <Value: _NumericValue>(lhs: inout any QueryExpression<Value?>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") + (", rhs.queryFragment, as: Value?.self)
}

/// Appends to a text that may be NULL in an update.
///
/// ```swift
/// Reminder.update { $0.notes += "!" }
/// // UPDATE "reminders"
/// // SET "notes" = ("reminders"."notes") || ('!')
/// ```
public func += <Value: _TextValue>(lhs: inout any QueryExpression<Value?>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") || (", rhs.queryFragment, as: Value?.self)
}

/// Subtracts from a number that may be NULL in an update.
public func -= <Value: _NumericValue>(lhs: inout any QueryExpression<Value?>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") - (", rhs.queryFragment, as: Value?.self)
}

/// Multiplies a number that may be NULL in an update.
public func *= <Value: _NumericValue>(lhs: inout any QueryExpression<Value?>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") * (", rhs.queryFragment, as: Value?.self)
}

/// Divides a number that may be NULL in an update.
public func /= <Value: _NumericValue>(lhs: inout any QueryExpression<Value?>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") / (", rhs.queryFragment, as: Value?.self)
}

/// Replaces a number by the remainder of a division in an update.
///
/// ```swift
/// RemindersList.update { $0.position %= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") % (2)
/// ```
public func %= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") % (", rhs.queryFragment, as: Value.self)
}

/// Keeps the bits of an integer that are set in another one in an update.
///
/// ```swift
/// RemindersList.update { $0.position &= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") & (2)
/// ```
public func &= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") & (", rhs.queryFragment, as: Value.self)
}

/// Sets the bits of an integer that are set in another one in an update.
///
/// ```swift
/// RemindersList.update { $0.position |= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") | (2)
/// ```
public func |= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") | (", rhs.queryFragment, as: Value.self)
}

/// Moves the bits of an integer to the left in an update.
///
/// ```swift
/// RemindersList.update { $0.position <<= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") << (2)
/// ```
public func <<= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") << (", rhs.queryFragment, as: Value.self)
}

/// Moves the bits of an integer to the right in an update.
///
/// ```swift
/// RemindersList.update { $0.position >>= 2 }
/// // UPDATE "remindersLists"
/// // SET "position" = ("remindersLists"."position") >> (2)
/// ```
public func >>= <Value: _NumericValue>(lhs: inout any QueryExpression<Value>, rhs: some QueryExpression<Value>) {
  lhs = _binary(lhs.queryFragment, ") >> (", rhs.queryFragment, as: Value.self)
}
