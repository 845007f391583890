/// The name of a ``TableAlias``.
///
/// ```swift
/// Reminder.join(Reminder.as(ParentAlias.self).all) { $0.id.eq($1.id) }.select { $1.title }
/// // SELECT "parentAliases"."title"
/// // FROM "reminders"
/// // JOIN "reminders" AS "parentAliases" ON ("reminders"."id") = ("parentAliases"."id")
/// ```
public protocol AliasName {
  static var aliasName: String { get }
}

extension AliasName {
  public static var aliasName: String {
    aliasNames.text(for: Self.self) { _defaultTableName(for: String(describing: Self.self)) }
  }
}

/// The names of aliases. The name of a type is slow to get, and each column of an alias needs it.
private let aliasNames = TypeCache()

/// A table under another name, so that a query can use the table twice.
public struct TableAlias<Base: Table, Name: AliasName>: Table {
  public typealias DefaultScope = Where<Self>

  /// The row of the table.
  public let base: Base

  public init(base: Base) { self.base = base }

  public init(decoder: inout some QueryDecoder) throws { base = try Base(decoder: &decoder) }

  public static var _columnWidth: Int { Base._columnWidth }

  public static var columns: TableColumns { TableColumns() }
  public static var tableName: String { Base.tableName }
  public static var tableAlias: String? { Name.aliasName }
  public static var schemaName: String? { Base.schemaName }

  public func _encode(into encoder: inout RowEncoder) { base._encode(into: &encoder) }

  @dynamicMemberLookup
  public struct TableColumns: TableDefinition {
    public typealias QueryValue = TableAlias

    public static var allColumns: [any TableColumnExpression] {
      Base.TableColumns.allColumns.map { $0._column(of: TableAlias.self) }
    }

    public static var writableColumns: [any WritableTableColumnExpression] { _writable(allColumns) }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Base.TableColumns, TableColumn<Base, Member>>
    ) -> TableColumn<TableAlias, Member> {
      TableColumn(Base.columns[keyPath: keyPath].name)
    }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Base.TableColumns, GeneratedColumn<Base, Member>>
    ) -> GeneratedColumn<TableAlias, Member> {
      GeneratedColumn(Base.columns[keyPath: keyPath].name)
    }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Base.TableColumns, ColumnGroup<Base, Member>>
    ) -> ColumnGroup<TableAlias, Member> {
      ColumnGroup()
    }
  }
}

extension TableAlias: Sendable where Base: Sendable {}
extension TableAlias: Equatable where Base: Equatable {}
extension TableAlias: Hashable where Base: Hashable {}
extension TableAlias: Identifiable where Base: Identifiable {
  public var id: Base.ID { base.id }
}

extension Table {
  /// The table under another name.
  ///
  /// ```swift
  /// Reminder.as(ParentAlias.self).select(\.title)
  /// // SELECT "parentAliases"."title" FROM "reminders" AS "parentAliases"
  /// ```
  public static func `as`<Name: AliasName>(_ aliasName: Name.Type) -> TableAlias<Self, Name>.Type {
    TableAlias<Self, Name>.self
  }
}

extension TableAlias where Base: PrimaryKeyedTable {
  /// The row with a primary key.
  ///
  /// ```swift
  /// Reminder.as(ParentAlias.self).find(1).select(\.title)
  /// // SELECT "parentAliases"."title"
  /// // FROM "reminders" AS "parentAliases"
  /// // WHERE ("parentAliases"."id") IN ((1))
  /// ```
  public static func find(_ primaryKey: some QueryExpression<Base.PrimaryKey>) -> Where<Self> {
    find([primaryKey])
  }

  /// The rows with primary keys.
  public static func find<Keys: Sequence>(_ primaryKeys: Keys) -> Where<Self>
  where Keys.Element: QueryExpression, Keys.Element.QueryValue == Base.PrimaryKey {
    Where([columns.primaryKey.in(primaryKeys).queryFragment], scope: .table)
  }
}

/// Makes the name of a table from the name of a type, as the `@Table` macro does.
///
/// ```swift
/// _defaultTableName(for: "Category")  // categories
/// ```
public func _defaultTableName(for typeName: String) -> String {
  let capitals = typeName.prefix(while: \.isUppercase)
  // The last capital of a longer run starts the next word, unless the run is the whole name.
  let word = capitals.count > 1 && capitals.count < typeName.count ? capitals.dropLast() : capitals
  let name = word.lowercased() + typeName.dropFirst(word.count)
  if name.hasSuffix("y"), let before = name.dropLast().last, !"aeiou".contains(before) {
    return name.dropLast() + "ies"
  }
  if ["s", "x", "z", "ch", "sh"].contains(where: name.hasSuffix) {
    return name + "es"
  }
  return name + "s"
}
