extension Optional: QueryDecodable where Wrapped: QueryDecodable {
  public typealias _Optionalized = Self

  @inlinable
  public static var _columnWidth: Int { Wrapped._columnWidth }

  @inlinable
  public init(decoder: inout some QueryDecoder) throws {
    self = try Wrapped._ifAny(decoder: &decoder)
  }
}

extension Optional: QueryRepresentable where Wrapped: QueryRepresentable {
  public typealias QueryOutput = Wrapped.QueryOutput?

  @inlinable
  public init(queryOutput: Wrapped.QueryOutput?) {
    self = queryOutput.map(Wrapped.init(queryOutput:))
  }

  @inlinable
  public var queryOutput: Wrapped.QueryOutput? { self?.queryOutput }
}

extension Optional: QueryExpression where Wrapped: QueryExpression {
  public typealias QueryValue = Wrapped.QueryValue?

  public var queryFragment: QueryFragment { self?.queryFragment ?? QueryFragment(QueryBinding.null) }
}

extension Optional: QueryBindable where Wrapped: QueryBindable {
  @inlinable
  public var queryBinding: QueryBinding { self?.queryBinding ?? .null }

  @inlinable
  public static var _isPlaceholder: Bool { Wrapped._isPlaceholder }
}

extension Optional: Statement where Wrapped: Table {}

extension Optional: PartialSelectStatement where Wrapped: Table {}

extension Optional: Table where Wrapped: Table {
  public typealias DefaultScope = Where<Self>

  public static var columns: TableColumns { TableColumns() }
  public static var tableName: String { Wrapped.tableName }
  public static var tableAlias: String? { Wrapped.tableAlias }
  public static var schemaName: String? { Wrapped.schemaName }
  public static var all: Where<Self> { Where() }

  public func _encode(into encoder: inout RowEncoder) {
    if let value = self { value._encode(into: &encoder) } else { encoder.encodeNull(Wrapped.self) }
  }

  public var queryFragment: QueryFragment {
    var encoder = RowEncoder(.list, includesGenerated: true)
    _encode(into: &encoder)
    return encoder.fragment
  }

  /// The columns of a table whose row may be missing, as an outer join makes it.
  @dynamicMemberLookup
  public struct TableColumns: TableDefinition {
    public typealias QueryValue = Wrapped?

    public static var allColumns: [any TableColumnExpression] { Wrapped.TableColumns.allColumns }

    public static var writableColumns: [any WritableTableColumnExpression] { Wrapped.TableColumns.writableColumns }

    public static var _selection: QueryFragment { Wrapped.TableColumns._selection }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Wrapped.TableColumns, TableColumn<Wrapped, Member>>
    ) -> TableColumn<Wrapped?, Member._Optionalized> {
      TableColumn(Wrapped.columns[keyPath: keyPath].name)
    }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Wrapped.TableColumns, GeneratedColumn<Wrapped, Member>>
    ) -> GeneratedColumn<Wrapped?, Member._Optionalized> {
      GeneratedColumn(Wrapped.columns[keyPath: keyPath].name)
    }

    public subscript<Member>(
      dynamicMember keyPath: KeyPath<Wrapped.TableColumns, ColumnGroup<Wrapped, Member>>
    ) -> ColumnGroup<Wrapped?, Member._Optionalized> {
      ColumnGroup()
    }

    /// An expression that an extension of the table's columns defines.
    public subscript<Member: QueryExpression>(
      dynamicMember keyPath: KeyPath<Wrapped.TableColumns, Member>
    ) -> SQLQueryExpression<Member.QueryValue._Optionalized> where Member.QueryValue: QueryDecodable {
      SQLQueryExpression(Wrapped.columns[keyPath: keyPath].queryFragment)
    }
  }
}

extension Never: Table {
  public typealias DefaultScope = Where<Never>
  public typealias QueryValue = Never
  public typealias QueryOutput = Never

  public static var columns: TableColumns { TableColumns() }
  public static var tableName: String { "" }

  public init(decoder: inout some QueryDecoder) throws { throw QueryDecodingError.missingRequiredColumn }

  public func _encode(into encoder: inout RowEncoder) {}

  public struct TableColumns: TableDefinition {
    public typealias QueryValue = Never

    public static var allColumns: [any TableColumnExpression] { [] }
    public static var writableColumns: [any WritableTableColumnExpression] { [] }
  }
}
