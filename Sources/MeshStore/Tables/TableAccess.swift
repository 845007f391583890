import MeshCore

/// The tables of mesh. In this module, only their types name them in SQL, and the files that create tables and triggers.
///
/// A query that names several groups of tables belongs to the group whose rows it selects, counts or changes.
protocol TableAccess { var sql: Connection { get } }

extension TableAccess {
  var assets: AssetTable { AssetTable(sql: sql) }
  var conflicts: ConflictTable { ConflictTable(sql: sql) }
  var control: ControlTable { ControlTable(sql: sql) }
  var foreignSchemas: ForeignSchemaTable { ForeignSchemaTable(sql: sql) }
  var held: HeldTable { HeldTable(sql: sql) }
  var log: LogTable { LogTable(sql: sql) }
  var names: NameTable { NameTable(sql: sql) }
  var pending: PendingTable { PendingTable(sql: sql) }
  var policies: PolicyTable { PolicyTable(sql: sql) }
  var recordRows: RecordTable { RecordTable(sql: sql) }
  var receipts: ReceiptTable { ReceiptTable(sql: sql) }
  var state: StateTable { StateTable(sql: sql) }
  var tableList: TableList { TableList(sql: sql) }
  var work: WorkTable { WorkTable(sql: sql) }
  var zoneRows: ZoneTable { ZoneTable(sql: sql) }
}

extension RecordRef {
  /// The values of the columns `tbl` and `key`.
  var place: [Value] { [.integer(table), key] }

  /// Returns the values of the columns `tbl`, `key` and `zone`.
  func place(in zone: Int64) -> [Value] { [.integer(table), key, .integer(zone)] }
}

extension PreparedStatement {
  /// Returns the record whose table is in this column, and whose key is in the next one.
  func ref(_ column: Int) -> RecordRef { RecordRef(table: integer(column), key: value(column + 1)) }
}
