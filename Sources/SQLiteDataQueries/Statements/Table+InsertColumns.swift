// swift-format-ignore-file: AmbiguousTrailingClosureOverload

extension Table {
  /// Inserts values of some columns; the other columns get their defaults.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   ($0.title, $0.position)
  /// } values: {
  ///   ("Personal", 1)
  ///   ("Work", 2)
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("title", "position")
  /// // VALUES
  /// // ('Personal', 1), ('Work', 2)
  /// ```
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment
  ) -> InsertOf<Self> {
    _insert(conflictResolution, columns(Self.columns), .values(values()))
  }

  /// Inserts values of some columns, and updates each row that exists already.
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    onConflictDoUpdate updates: ((inout Updates<Self>, Excluded.TableColumns) -> Void)?,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(conflictResolution, columns(Self.columns), .values(values()), _conflict(updates, updateFilter))
  }

  /// Inserts values of some columns, and updates each row that exists already without a look at the new values.
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    onConflictDoUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    withoutActuallyEscaping(updates) { updates in
      _insert(
        conflictResolution, columns(Self.columns), .values(values()),
        _conflict({ row, _ in updates(&row) }, updateFilter))
    }
  }

  /// Inserts values of some columns, and updates each row that has the same values in some columns.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void = { _, _ in },
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .values(values()),
      _conflict(
        conflictTargets(Self.columns), targetFilter, updates, updateFilter))
  }

  /// Inserts values of some columns, and updates each row that has the same values in some columns
  /// without a look at the new values.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .values(values()),
      _conflict(
        conflictTargets(Self.columns), targetFilter, { row, _ in updates(&row) }, updateFilter))
  }

  /// Inserts values of some columns, and updates each row that has the same values in some columns if a
  /// condition holds.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .values(values()),
      _conflict(
        conflictTargets(Self.columns), { _ in [] }, updates, updateFilter))
  }

  /// Inserts values of some columns, and updates each row that has the same values in some columns if a
  /// condition holds,
  /// without a look at the new values.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    @InsertValuesBuilder<Values> values: () -> QueryFragment,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .values(values()),
      _conflict(
        conflictTargets(Self.columns), { _ in [] }, { row, _ in updates(&row) }, updateFilter))
  }

  /// Inserts the rows that a query returns.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   ($0.title, $0.position)
  /// } select: {
  ///   Reminder.select { ($0.title, $0.id) }
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("title", "position")
  /// // SELECT "reminders"."title", "reminders"."id"
  /// // FROM "reminders"
  /// ```
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>
  ) -> InsertOf<Self> {
    _insert(conflictResolution, columns(Self.columns), .select(selection().query))
  }

  /// Inserts the rows that a query returns, and updates each row that exists already.
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    onConflictDoUpdate updates: ((inout Updates<Self>, Excluded.TableColumns) -> Void)?,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(conflictResolution, columns(Self.columns), .select(selection().query), _conflict(updates, updateFilter))
  }

  /// Inserts the rows that a query returns, and updates each row that exists already without a look at the new values.
  public static func insert<Values>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    onConflictDoUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    withoutActuallyEscaping(updates) { updates in
      _insert(
        conflictResolution, columns(Self.columns), .select(selection().query),
        _conflict({ row, _ in updates(&row) }, updateFilter))
    }
  }

  /// Inserts the rows that a query returns, and updates each row that has the same values in some columns.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void = { _, _ in },
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .select(selection().query),
      _conflict(
        conflictTargets(Self.columns), targetFilter, updates, updateFilter))
  }

  /// Inserts the rows that a query returns, and updates each row that has the same values in some columns
  /// without a look at the new values.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    @QueryFragmentBuilder<Bool> where targetFilter: (TableColumns) -> [QueryFragment] = { _ in [] },
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment] = { _ in [] }
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .select(selection().query),
      _conflict(
        conflictTargets(Self.columns), targetFilter, { row, _ in updates(&row) }, updateFilter))
  }

  /// Inserts the rows that a query returns, and updates each row that has the same values in some columns if a condition
  /// holds.
  ///
  /// ```swift
  /// RemindersList.insert {
  ///   ($0.title, $0.position)
  /// } select: {
  ///   Reminder.select { ($0.title, $0.id) }
  /// } onConflict: {
  ///   $0.title
  /// } doUpdate: {
  ///   $0.position = $1.position
  /// } where: {
  ///   $0.position.gt(0)
  /// }
  /// // INSERT INTO "remindersLists"
  /// // ("title", "position")
  /// // SELECT "reminders"."title", "reminders"."id"
  /// // FROM "reminders"
  /// // WHERE 1
  /// // ON CONFLICT ("title")
  /// // DO UPDATE SET "position" = "excluded"."position"
  /// // WHERE ("remindersLists"."position") > (0)
  /// ```
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>, Excluded.TableColumns) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .select(selection().query),
      _conflict(
        conflictTargets(Self.columns), { _ in [] }, updates, updateFilter))
  }

  /// Inserts the rows that a query returns, and updates each row that has the same values in some columns if a
  /// condition holds,
  /// without a look at the new values.
  public static func insert<Values, Targets>(
    or conflictResolution: ConflictResolution? = nil,
    @InsertColumnsBuilder<Self> _ columns: (TableColumns) -> InsertColumns<Values>,
    select selection: () -> some PartialSelectStatement<Values>,
    @InsertColumnsBuilder<Self> onConflict conflictTargets: (TableColumns) -> InsertColumns<Targets>,
    doUpdate updates: (inout Updates<Self>) -> Void,
    @QueryFragmentBuilder<Bool> where updateFilter: (TableColumns) -> [QueryFragment]
  ) -> InsertOf<Self> {
    _insert(
      conflictResolution, columns(Self.columns), .select(selection().query),
      _conflict(
        conflictTargets(Self.columns), { _ in [] }, { row, _ in updates(&row) }, updateFilter))
  }

  private static func _insert(
    _ conflictResolution: ConflictResolution?, _ columns: InsertColumns<some Any>, _ source: InsertOf<Self>.Source,
    _ conflict: InsertOf<Self>.Conflict? = nil
  ) -> InsertOf<Self> {
    InsertOf<Self>(
      conflictResolution: conflictResolution, columns: InsertOf<Self>.list(of: columns), source: source,
      conflict: conflict)
  }
}
