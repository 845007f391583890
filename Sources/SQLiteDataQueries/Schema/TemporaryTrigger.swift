// swift-format-ignore-file: AmbiguousTrailingClosureOverload

public import Foundation

/// A `CREATE TEMPORARY TRIGGER` statement.
///
/// A temporary trigger lives as long as its connection and may call Swift functions.
public struct TemporaryTrigger<On: Table>: Statement, Sendable {
  public typealias QueryValue = ()

  /// The names of the row before and after a change.
  public enum Old: AliasName { public static var aliasName: String { "old" } }
  public enum New: AliasName { public static var aliasName: String { "new" } }

  public typealias OldColumns = TableAlias<On, Old>.TableColumns
  public typealias NewColumns = TableAlias<On, New>.TableColumns

  enum Moment: String, Sendable {
    case before = "BEFORE"
    case after = "AFTER"
    case insteadOf = "INSTEAD OF"
  }

  /// A change that runs a trigger, and what the trigger does.
  public struct Operation: Sendable {
    var name: String
    var columns: [String] = []
    var condition: [QueryFragment]
    var statements: [QueryFragment]
  }

  let name: String
  let ifNotExists: Bool
  let moment: Moment
  let operation: Operation

  public var query: QueryFragment {
    guard !operation.statements.isEmpty else { return QueryFragment() }
    var fragment: QueryFragment = "CREATE TEMPORARY TRIGGER"
    if ifNotExists { fragment.append(raw: " IF NOT EXISTS") }
    fragment.append("\n  \(quote: name)\n\(raw: moment.rawValue) \(raw: operation.name)")
    if !operation.columns.isEmpty {
      fragment.append(" OF \(operation.columns.map { QueryFragment(quote: $0) }.joined(separator: ", "))")
    }
    fragment.append(" ON \(On.self)\nFOR EACH ROW ")
    fragment.append(conditions: operation.condition, after: "WHEN ")
    fragment.append(raw: operation.condition.isEmpty ? "BEGIN" : " BEGIN")
    for statement in operation.statements {
      fragment.append("\n\(statement.indented());")
    }
    fragment.append(raw: "\nEND")
    // SQLite allows no bound values in a trigger.
    return fragment.inlined()
  }

  /// A statement that drops the trigger.
  ///
  /// ```swift
  /// Reminder.createTemporaryTrigger("log", after: .delete { _ in RemindersList.delete() }).drop(ifExists: true)
  /// // DROP TRIGGER IF EXISTS "log"
  /// ```
  public func drop(ifExists: Bool = false) -> SQLQueryExpression<()> {
    SQLQueryExpression("DROP TRIGGER \(raw: ifExists ? "IF EXISTS " : "")\(quote: name)", as: Void.self)
  }
}

extension TemporaryTrigger.Operation {
  /// Runs statements for each inserted row.
  ///
  /// ```swift
  /// Reminder.createTemporaryTrigger("count", after: .insert { new in
  ///   RemindersList.find(new.remindersListID).update { $0.position += 1 }
  /// })
  /// // CREATE TEMPORARY TRIGGER
  /// //   "count"
  /// // AFTER INSERT ON "reminders"
  /// // FOR EACH ROW BEGIN
  /// //   UPDATE "remindersLists"
  /// //   SET "position" = ("remindersLists"."position") + (1)
  /// //   WHERE ("remindersLists"."id") IN (("new"."remindersListID"));
  /// // END
  /// ```
  public static func insert(
    @QueryFragmentBuilder<any Statement> forEachRow perform: (TemporaryTrigger.NewColumns) -> [QueryFragment],
    @QueryFragmentBuilder<Bool> when condition: (TemporaryTrigger.NewColumns) -> [QueryFragment] = { _ in [] }
  ) -> Self {
    let new = TableAlias<On, TemporaryTrigger.New>.columns
    return Self(name: "INSERT", condition: condition(new), statements: perform(new))
  }

  /// Runs statements for each updated row.
  public static func update(
    @QueryFragmentBuilder<any Statement> forEachRow perform: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment],
    @QueryFragmentBuilder<Bool> when condition: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment] = { _, _ in [] }
  ) -> Self {
    let old = TableAlias<On, TemporaryTrigger.Old>.columns
    let new = TableAlias<On, TemporaryTrigger.New>.columns
    return Self(name: "UPDATE", condition: condition(old, new), statements: perform(old, new))
  }

  /// Runs statements for each updated row in which one of some columns was set.
  ///
  /// ```swift
  /// Reminder.createTemporaryTrigger("moved", after: .update(of: { $0.remindersListID }) { old, new in
  ///   RemindersList.find(old.remindersListID).update { $0.position -= 1 }
  /// })
  /// // CREATE TEMPORARY TRIGGER
  /// //   "moved"
  /// // AFTER UPDATE OF "remindersListID" ON "reminders"
  /// // FOR EACH ROW BEGIN
  /// //   UPDATE "remindersLists"
  /// //   SET "position" = ("remindersLists"."position") - (1)
  /// //   WHERE ("remindersLists"."id") IN (("old"."remindersListID"));
  /// // END
  /// ```
  public static func update<Columns>(
    @InsertColumnsBuilder<On> of columns: (On.TableColumns) -> InsertColumns<Columns>,
    @QueryFragmentBuilder<any Statement> forEachRow perform: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment],
    @QueryFragmentBuilder<Bool> when condition: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment] = { _, _ in [] }
  ) -> Self {
    var operation = update(forEachRow: perform, when: condition)
    operation.columns = columns(On.columns).names
    return operation
  }

  /// Runs statements for each deleted row.
  public static func delete(
    @QueryFragmentBuilder<any Statement> forEachRow perform: (TemporaryTrigger.OldColumns) -> [QueryFragment],
    @QueryFragmentBuilder<Bool> when condition: (TemporaryTrigger.OldColumns) -> [QueryFragment] = { _ in [] }
  ) -> Self {
    let old = TableAlias<On, TemporaryTrigger.Old>.columns
    return Self(name: "DELETE", condition: condition(old), statements: perform(old))
  }
}

extension TemporaryTrigger.Operation where On: PrimaryKeyedTable {
  /// Sets columns of each inserted row.
  @_disfavoredOverload
  public static func insert(
    touch updates: (inout Updates<On>) -> Void,
    @QueryFragmentBuilder<Bool> when condition: (TemporaryTrigger.NewColumns) -> [QueryFragment] = { _ in [] }
  ) -> Self {
    insert(forEachRow: { _ in touch(updates) }, when: condition)
  }

  /// Sets columns of each updated row.
  ///
  /// ```swift
  /// Reminder.createTemporaryTrigger("touch", after: .update(touch: { $0.notes = #sql("datetime('now')") }))
  /// // CREATE TEMPORARY TRIGGER
  /// //   "touch"
  /// // AFTER UPDATE ON "reminders"
  /// // FOR EACH ROW BEGIN
  /// //   UPDATE "reminders"
  /// //   SET "notes" = datetime('now')
  /// //   WHERE ("reminders"."id") = ("new"."id");
  /// // END
  /// ```
  @_disfavoredOverload
  public static func update(
    touch updates: (inout Updates<On>) -> Void,
    @QueryFragmentBuilder<Bool> when condition: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment] = { _, _ in [] }
  ) -> Self {
    update(forEachRow: { _, _ in touch(updates) }, when: condition)
  }

  /// Sets a column of each inserted row to the time.
  public static func insert<D: QueryBindable>(
    touch column: KeyPath<On.TableColumns, TableColumn<On, D>>, date: SQLQueryExpression<D> = _now(),
    @QueryFragmentBuilder<Bool> when condition: (TemporaryTrigger.NewColumns) -> [QueryFragment] = { _ in [] }
  ) -> Self where D._Optionalized == Date? {
    insert(touch: { $0.set(On.columns[keyPath: column].name, date.queryFragment) }, when: condition)
  }

  /// Sets a column of each updated row to the time.
  public static func update<D: QueryBindable>(
    touch column: KeyPath<On.TableColumns, TableColumn<On, D>>, date: SQLQueryExpression<D> = _now(),
    @QueryFragmentBuilder<Bool> when condition: (
      TemporaryTrigger.OldColumns, TemporaryTrigger.NewColumns
    ) -> [QueryFragment] = { _, _ in [] }
  ) -> Self where D._Optionalized == Date? {
    update(touch: { $0.set(On.columns[keyPath: column].name, date.queryFragment) }, when: condition)
  }

  private static func touch(_ updates: (inout Updates<On>) -> Void) -> UpdateOf<On> {
    var assignments = Updates<On>()
    updates(&assignments)
    let key = TableAlias<On, TemporaryTrigger.New>.columns.primaryKey
    return UpdateOf<On>(
      assignments: assignments.fragment, conditions: ["(\(On.columns.primaryKey)) = (\(key))"])
  }
}

extension QueryFragmentBuilder<any Statement> {
  public static func buildExpression(_ expression: some Statement) -> [QueryFragment] {
    let query = expression.query
    return query.isEmpty ? [] : [query]
  }
}

extension Table {
  /// A trigger that runs after each change of a row.
  ///
  /// - Parameters:
  ///   - name: The name of the trigger. Without one, it is made from the place of the call.
  ///   - ifNotExists: Whether a trigger with that name stays as it is.
  ///   - operation: The kind of change, and the statements.
  public static func createTemporaryTrigger(
    _ name: String? = nil, ifNotExists: Bool = false, after operation: TemporaryTrigger<Self>.Operation,
    fileID: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) -> TemporaryTrigger<Self> {
    TemporaryTrigger(
      name: name ?? _triggerName(.after, operation, "\(fileID):\(line):\(column)"), ifNotExists: ifNotExists,
      moment: .after, operation: operation)
  }

  /// A trigger that runs before each change of a row.
  public static func createTemporaryTrigger(
    _ name: String? = nil, ifNotExists: Bool = false, before operation: TemporaryTrigger<Self>.Operation,
    fileID: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) -> TemporaryTrigger<Self> {
    TemporaryTrigger(
      name: name ?? _triggerName(.before, operation, "\(fileID):\(line):\(column)"), ifNotExists: ifNotExists,
      moment: .before, operation: operation)
  }

  /// A trigger that runs instead of each change of a view's row.
  public static func createTemporaryTrigger(
    _ name: String? = nil, ifNotExists: Bool = false, insteadOf operation: TemporaryTrigger<Self>.Operation,
    fileID: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) -> TemporaryTrigger<Self> {
    TemporaryTrigger(
      name: name ?? _triggerName(.insteadOf, operation, "\(fileID):\(line):\(column)"), ifNotExists: ifNotExists,
      moment: .insteadOf, operation: operation)
  }

  private static func _triggerName(
    _ moment: TemporaryTrigger<Self>.Moment, _ operation: TemporaryTrigger<Self>.Operation, _ place: String
  ) -> String {
    let change = "\(moment.rawValue)_\(operation.name)".lowercased().replacing(" ", with: "_")
    return "\(change)_on_\(tableName)@\(place)"
  }
}

extension PrimaryKeyedTable {
  /// A trigger that sets columns of each inserted row.
  public static func createTemporaryTrigger(
    _ name: String? = nil, ifNotExists: Bool = false, afterInsertTouch updates: (inout Updates<Self>) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) -> TemporaryTrigger<Self> {
    createTemporaryTrigger(
      name, ifNotExists: ifNotExists, after: .insert(touch: updates), fileID: fileID, line: line, column: column)
  }

  /// A trigger that sets columns of each updated row.
  public static func createTemporaryTrigger(
    _ name: String? = nil, ifNotExists: Bool = false, afterUpdateTouch updates: (inout Updates<Self>) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) -> TemporaryTrigger<Self> {
    createTemporaryTrigger(
      name, ifNotExists: ifNotExists, after: .update(touch: updates), fileID: fileID, line: line, column: column)
  }
}

extension PrimaryKeyedTable {
  /// A trigger that sets a column of each inserted row to the time.
  public static func createTemporaryTrigger<D: QueryBindable>(
    _ name: String? = nil, ifNotExists: Bool = false,
    afterInsertTouch column: KeyPath<TableColumns, TableColumn<Self, D>>, date: SQLQueryExpression<D> = _now(),
    fileID: StaticString = #fileID, line: UInt = #line, column place: UInt = #column
  ) -> TemporaryTrigger<Self> where D._Optionalized == Date? {
    createTemporaryTrigger(
      name, ifNotExists: ifNotExists, after: .insert(touch: column, date: date), fileID: fileID, line: line,
      column: place)
  }

  /// A trigger that sets a column of each updated row to the time.
  ///
  /// ```swift
  /// Reminder.createTemporaryTrigger("touch", afterUpdateTouch: \.dueDate)
  /// // CREATE TEMPORARY TRIGGER
  /// //   "touch"
  /// // AFTER UPDATE ON "reminders"
  /// // FOR EACH ROW BEGIN
  /// //   UPDATE "reminders"
  /// //   SET "dueDate" = strftime('%Y-%m-%d %H:%M:%f', 'now')
  /// //   WHERE ("reminders"."id") = ("new"."id");
  /// // END
  /// ```
  public static func createTemporaryTrigger<D: QueryBindable>(
    _ name: String? = nil, ifNotExists: Bool = false,
    afterUpdateTouch column: KeyPath<TableColumns, TableColumn<Self, D>>, date: SQLQueryExpression<D> = _now(),
    fileID: StaticString = #fileID, line: UInt = #line, column place: UInt = #column
  ) -> TemporaryTrigger<Self> where D._Optionalized == Date? {
    createTemporaryTrigger(
      name, ifNotExists: ifNotExists, after: .update(touch: column, date: date), fileID: fileID, line: line,
      column: place)
  }
}

/// Makes an expression for the time, in the form that dates have in the database.
public func _now<D>() -> SQLQueryExpression<D> {
  // SQLite before 3.42 has no `subsec`.
  SQLQueryExpression("strftime('%Y-%m-%d %H:%M:%f', 'now')", as: D.self)
}

extension QueryFragment {
  /// Returns the fragment with literals in place of its bound values.
  ///
  /// A value that can't be bound stays, so that running the statement throws its error.
  func inlined() -> QueryFragment {
    let hasInvalid = placeholders.contains { if case .invalid = $0.binding { true } else { false } }
    return hasInvalid ? self : QueryFragment(debugDescription)
  }
}
