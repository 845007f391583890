/// Makes a struct or an enum the row of a table.
///
/// ```swift
/// @Table
/// struct Reminder {
///   let id: UUID
///   var title = ""
///   var dueAt: Date?
/// }
///
/// Reminder.where { $0.dueAt.is(nil) }.select(\.title)
/// // SELECT "reminders"."title" FROM "reminders" WHERE ("reminders"."dueAt" IS NULL)
/// ```
///
/// Each stored property is a column. The property `id` is the primary key, unless `@Column(primaryKey: true)` marks
/// another one. A type with a primary key gets a nested type `Draft`, whose key is optional.
///
/// Each case of an enum is a column that is NULL in rows of the other cases.
///
/// - Parameters:
///   - name: The name of the table. By default, the name of the type in lower camel case and in the plural.
///   - schema: The name of an attached database that holds the table.
@attached(
  member, names: named(TableColumns), named(Selection), named(Draft), named(_Cases), named(_cases))
@attached(
  extension, conformances: Table, PrimaryKeyedTable, _CaseTable,
  names: named(Columns), named(PrimaryKey), named(primaryKey), named(tableName), named(schemaName), named(columns),
  named(_columnWidth), named(init(decoder:)), named(_encode))
public macro Table(_ name: String = "", schema: String? = nil) =
  #externalMacro(module: "SQLiteDataMacros", type: "TableMacro")

/// Makes a struct or an enum the result of a select list, or a group of columns in a table.
///
/// ```swift
/// @Selection
/// struct Row {
///   let title: String
///   let listTitle: String
/// }
///
/// Reminder
///   .join(RemindersList.all) { $0.remindersListID.eq($1.id) }
///   .select { Row.Columns(title: $0.title, listTitle: $1.title) }
/// ```
///
/// - Parameter name: The name of the selection if a common table expression has it. By default, the name of the type in
///   lower camel case and in the plural.
@attached(member, names: named(TableColumns), named(Selection), named(_Cases), named(_cases))
@attached(
  extension, conformances: Table, _CaseTable,
  names: named(Columns), named(tableName), named(columns), named(_columnWidth), named(init(decoder:)), named(_encode))
public macro Selection(_ name: String = "") = #externalMacro(module: "SQLiteDataMacros", type: "SelectionMacro")

/// Describes the column of a property or of an enum's case.
///
/// - Parameters:
///   - name: The name of the column. By default, the name of the property.
///   - representableType: The type that is stored, if it isn't the property's own: `Date.UnixTimeRepresentation.self`.
///   - primaryKey: Whether the column is the table's primary key.
///   - lazyInitializable: Whether a `Draft` may leave the value to the column's default in the database.
@attached(peer)
public macro Column(
  _ name: String = "", as representableType: (any QueryRepresentable.Type)? = nil, primaryKey: Bool = false,
  lazyInitializable: Bool = false
) = #externalMacro(module: "SQLiteDataMacros", type: "ColumnMacro")

/// Describes a column whose value SQLite computes, `GENERATED ALWAYS AS …`. It is read and never written.
///
/// - Parameters:
///   - name: The name of the column. By default, the name of the property.
///   - representableType: The type that is stored, if it isn't the property's own.
///   - primaryKey: Whether the column is the table's primary key.
///   - generated: Whether the database stores the value or computes it at each read.
@attached(peer)
public macro Column(
  _ name: String = "", as representableType: (any QueryRepresentable.Type)? = nil, primaryKey: Bool = false,
  generated: GeneratedColumnStorage
) = #externalMacro(module: "SQLiteDataMacros", type: "ColumnMacro")

/// Whether the database stores the value of a generated column.
public enum GeneratedColumnStorage: Sendable {
  /// SQLite computes the value whenever the column is read.
  case virtual
  /// SQLite computes the value when the row is written.
  case stored
}

/// Describes a property whose type is a `@Selection`, a group of columns.
///
/// The macro is needed only to make the group the primary key.
///
/// - Parameter primaryKey: Whether the columns are the table's primary key.
@attached(peer)
public macro Columns(primaryKey: Bool = false) = #externalMacro(module: "SQLiteDataMacros", type: "ColumnMacro")

/// Leaves a property out of the table. It needs an initial value, which rows from the database have.
@attached(peer)
public macro Ephemeral() = #externalMacro(module: "SQLiteDataMacros", type: "EphemeralMacro")
