// swift-format-ignore-file: AmbiguousTrailingClosureOverload

import Foundation

private let insertColumns = TypeCache()

extension Table {
  /// Inserts rows or drafts.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   RemindersList(id: 1, title: "Personal")
  ///   RemindersList.Draft(title: "Work")
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0), (NULL, 'Work', NULL, 0)
  /// ```
  ///
  /// - Parameters:
  ///   - conflictResolution: The rule for a row that violates a constraint.
  ///   - values: The rows.
  public static func insert(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment
  ) -> InsertOf<Self> {
    _insert(conflictResolution, values())
  }

  /// Inserts one row.
  ///
  /// ```swift
  /// RemindersList.insert(RemindersList(id: 1, title: "Personal"))
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0)
  /// ```
  public static func insert(_ row: Self) -> InsertOf<Self> {
    insert { row }
  }

  /// Inserts rows, and updates each row that exists already.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   RemindersList(id: 1, title: "Personal")
  /// } onConflictDoUpdate: { row, excluded in
  ///   row.title = excluded.title
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0)
  /// // ON CONFLICT DO UPDATE SET "title" = "excluded"."title"
  /// ```
  public static func insert(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    onConflictDoUpdate updates: ((inout Updates<Self>, Excluded.TableColumns) -> Void)?,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    var insert = _insert(conflictResolution, values())
    insert.conflict = _conflict(updates, updateFilter)
    return insert
  }

  /// Inserts rows, and updates each row that exists already without a look at the new values.
  public static func insert(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    onConflictDoUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    withoutActuallyEscaping(updates) { updates in
      insert(
        or: conflictResolution, values: values, onConflictDoUpdate: { row, _ in updates(&row) }, where: updateFilter)
    }
  }

  /// Inserts rows, and updates each row that has the same values in some columns.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   RemindersList(id: 1, title: "Personal")
  /// } onConflict: {
  ///   $0.id
  /// } doUpdate: { row, excluded in
  ///   row.title = excluded.title
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0)
  /// // ON CONFLICT ("id")
  /// // DO UPDATE SET "title" = "excluded"."title"
  /// ```
  ///
  /// - Parameters:
  ///   - conflictResolution: The rule for a row that violates another constraint.
  ///   - values: The rows.
  ///   - conflictTargets: The columns of a UNIQUE index.
  ///   - targetFilter: The condition of that index, if it is partial.
  ///   - updates: The assignments. Without one, the row that exists stays as it is.
  ///   - updateFilter: The condition under which the row is updated.
  public static func insert<Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void = { _, _ in },
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    var insert = _insert(conflictResolution, values())
    insert.conflict = _conflict(conflictTargets(columns), targetFilter, updates, updateFilter)
    return insert
  }

  /// Inserts rows, and updates each row that has the same values in some columns without a look at the new values.
  public static func insert<Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    var insert = _insert(conflictResolution, values())
    insert.conflict = _conflict(conflictTargets(columns), targetFilter, { row, _ in updates(&row) }, updateFilter)
    return insert
  }

  /// Inserts rows, and updates each row that has the same values in some columns if a condition holds.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   RemindersList(id: 1, title: "Personal")
  /// } onConflict: {
  ///   $0.id
  /// } doUpdate: {
  ///   $0.title = $1.title
  /// } where: {
  ///   $0.position.gt(0)
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0)
  /// // ON CONFLICT ("id")
  /// // DO UPDATE SET "title" = "excluded"."title"
  /// // WHERE ("remindersLists"."position") > (0)
  /// ```
  public static func insert<Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    var insert = _insert(conflictResolution, values())
    insert.conflict = _conflict(conflictTargets(columns), { _ in [] }, updates, updateFilter)
    return insert
  }

  /// Inserts rows, and updates each row that has the same values in some columns if a condition holds, without a look at
  /// the new values.
  public static func insert<Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    var insert = _insert(conflictResolution, values())
    insert.conflict = _conflict(conflictTargets(columns), { _ in [] }, { row, _ in updates(&row) }, updateFilter)
    return insert
  }

  /// Inserts one row of default values.
  ///
  /// ```swift
  /// RemindersList.insert()
  /// // INSERT INTO "remindersLists"
  /// // DEFAULT VALUES
  /// ```
  public static func insert(or conflictResolution: ConflictResolution? = nil) -> InsertOf<Self> {
    InsertOf<Self>(conflictResolution: conflictResolution, source: .defaultValues)
  }

  /// The names of all columns that an INSERT writes.
  static var _insertColumns: String {
    insertColumns.text(for: Self.self) {
      InsertOf<Self>.list(of: InsertColumns<()>(names: TableColumns.writableColumns.map(\.name)))
    }
  }

  private static func _insert(
    _ conflictResolution: ConflictResolution?, _ values: QueryFragment
  ) -> InsertOf<Self> {
    InsertOf<Self>(conflictResolution: conflictResolution, columns: nil, source: .values(values))
  }

  static func _conflict(
    _ updates: ((inout Updates<Self>, Excluded.TableColumns) -> Void)?,
    _ updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self>.Conflict? {
    guard let updates else { return nil }
    var assignments = Updates<Self>()
    updates(&assignments, Excluded.columns)
    return InsertOf<Self>.Conflict(assignments: assignments.fragment, conditions: updateFilter(columns))
  }

  static func _conflict<Targets>(
    _ targets: InsertColumns<Targets>,
    _ targetFilter: (TableColumns) -> [QueryFragment],
    _ updates: (inout Updates<Self>, Excluded.TableColumns) -> Void,
    _ updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self>.Conflict {
    var assignments = Updates<Self>()
    updates(&assignments, Excluded.columns)
    // The condition of an index names its columns without the table.
    var qualifier = QueryFragment(quote: _qualifier)
    qualifier.append(raw: ".")
    return InsertOf<Self>.Conflict(
      targets: targets.names,
      // SQLite looks for an index with the same condition, and doesn't know what a placeholder stands for.
      targetConditions: targetFilter(columns).map { $0.removing(all: qualifier.sql).inlined() },
      assignments: assignments.fragment, conditions: updateFilter(columns))
  }
}

extension PrimaryKeyedTable {
  /// Inserts rows or drafts, and overwrites each row that has the same primary key.
  ///
  /// ```swift
  /// RemindersList.upsert { RemindersList.Draft(id: 1, title: "Personal") }
  /// // INSERT INTO "remindersLists"
  /// // ("id", "title", "color", "position")
  /// // VALUES
  /// // (1, 'Personal', NULL, 0)
  /// // ON CONFLICT ("id")
  /// // DO UPDATE SET "title" = "excluded"."title", "color" = "excluded"."color", "position" = "excluded"."position"
  /// ```
  public static func upsert(
    or conflictResolution: ConflictResolution? = nil,
    @InsertValuesBuilder<Self> values: () -> QueryFragment
  ) -> InsertOf<Self> {
    let keys = columns.primaryKey._tableColumns.map(\.name)
    var assignments = Updates<Self>()
    for column in TableColumns.writableColumns where !keys.contains(column.name) {
      assignments.set(column.name, "\"excluded\".\(quote: column.name)")
    }
    return InsertOf<Self>(
      conflictResolution: conflictResolution, columns: nil, source: .values(values()),
      conflict: InsertOf<Self>.Conflict(targets: keys, assignments: assignments.fragment))
  }
}

extension QueryFragment {
  /// Returns the fragment without each occurrence of a text that binds nothing.
  func removing(all text: String) -> QueryFragment {
    var result = QueryFragment()
    let parts = sql.components(separatedBy: text)
    var offset = 0
    var next = placeholders[...]
    for (index, part) in parts.enumerated() {
      if index > 0 { offset += text.utf8.count }
      let end = offset + part.utf8.count
      let shift = result.sql.utf8.count - offset
      while let placeholder = next.first, placeholder.offset < end {
        result.append(placeholder: placeholder.binding, at: placeholder.offset + shift)
        next.removeFirst()
      }
      result.append(raw: part)
      offset = end
    }
    return result
  }
}
