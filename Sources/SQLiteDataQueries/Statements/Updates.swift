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
@dynamicMemberLookup
public struct Updates<Base: Table> {
  var assignments: [(column: String, value: QueryFragment)] = []

  var isEmpty: Bool { assignments.isEmpty }

  /// Sets a column to an expression.
  public mutating func set<Value>(
    _ column: some WritableTableColumnExpression<Base, Value>, _ value: some QueryExpression<Value>
  ) {
    set(column.name, value.queryFragment)
  }

  mutating func set(_ column: String, _ value: QueryFragment) {
    if let index = assignments.firstIndex(where: { $0.column == column }) {
      assignments[index].value = value
    } else {
      assignments.append((column, value))
    }
  }

  /// A column, to be used in an expression.
  public subscript<Value: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> TableColumn<Base, Value> {
    Base.columns[keyPath: keyPath]
  }

  /// A column as an expression, which can be assigned.
  @_disfavoredOverload
  public subscript<Value: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> any QueryExpression<Value> {
    get { Base.columns[keyPath: keyPath] }
    set { set(Base.columns[keyPath: keyPath].name, newValue.queryFragment) }
  }

  /// A column that may be NULL, which can be assigned a Swift value without `#bind`: `$0.dueDate = nil`.
  @_disfavoredOverload
  public subscript<Wrapped: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Wrapped?>>
  ) -> Wrapped.QueryOutput? {
    @available(*, unavailable, message: "an assignment can't be read; use the column")
    get { fatalError("an assignment can't be read") }
    set { set(Base.columns[keyPath: keyPath].name, Wrapped?(queryOutput: newValue).queryFragment) }
  }

  /// A Boolean column, which can be toggled.
  @_disfavoredOverload
  public subscript(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Bool>>
  ) -> SQLQueryExpression<Bool> {
    get { SQLQueryExpression(Base.columns[keyPath: keyPath].queryFragment) }
    set { set(Base.columns[keyPath: keyPath].name, newValue.queryFragment) }
  }

  /// A group of columns, whose columns can be assigned.
  public subscript<Value: Table>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Value>>
  ) -> GroupUpdates<Base, Value> {
    get { GroupUpdates() }
    set { for (column, value) in newValue.assignments { set(column, value) } }
  }

  /// All columns of a group, which can be assigned a value.
  @_disfavoredOverload
  public subscript<Value: Table>(dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Value>>) -> Value {
    @available(*, unavailable, message: "an assignment can't be read; use the columns of the group")
    get { fatalError("an assignment can't be read") }
    set { set(Base.columns[keyPath: keyPath], newValue) }
  }

  /// Sets all columns of a group.
  public mutating func set<Value: Table>(_ group: ColumnGroup<Base, Value>, _ value: Value) {
    for (column, value) in zip(Value.TableColumns.allColumns, value._allColumns) {
      set(column.name, value.queryFragment)
    }
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

/// The assignments to columns of a group.
@dynamicMemberLookup
public struct GroupUpdates<Root: Table, Base: Table> {
  var assignments: [(column: String, value: QueryFragment)] = []

  /// A column of the group as an expression, which can be assigned.
  public subscript<Value: QueryBindable>(
    dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Value>>
  ) -> any QueryExpression<Value> {
    get { TableColumn<Root, Value>(Base.columns[keyPath: keyPath].name) }
    set { assignments.append((Base.columns[keyPath: keyPath].name, newValue.queryFragment)) }
  }
}

extension SQLQueryExpression<Bool> {
  /// Negates a Boolean column in an update.
  ///
  /// ```swift
  /// Reminder.update { $0.isCompleted.toggle() }
  /// // UPDATE "reminders"
  /// // SET "isCompleted" = NOT ("reminders"."isCompleted")
  /// ```
  public mutating func toggle() { self = not() }
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
