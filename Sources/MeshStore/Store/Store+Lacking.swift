import GRDB
public import MeshCore

// MARK: - What the mesh has and this file lacks

extension Store {
  /// A table or columns that a member described and this file does not have.
  public struct LackingTable: Hashable, Sendable {
    public let table: String
    /// The table is here, and lacks only columns.
    public let exists: Bool
    public let columns: [String]
    /// The SQL that makes them, built from the description.
    public let statements: [String]
    /// Why they can't be made; nil where they can.
    public let refusal: String?
    public let description: SchemaDescription
  }

  /// By name. Of several members' descriptions of one table, the one with the most columns counts: schemas grow.
  public func lackingTables() throws -> [LackingTable] {
    var widest: [String: SchemaDescription] = [:]
    for (_, descriptions) in try foreignSchemas().sorted(by: { $0.key < $1.key }) {
      for description in descriptions {
        let name = description.name.asciiLowercased
        if (widest[name]?.columns.count ?? 0) < description.columns.count { widest[name] = description }
      }
    }
    return try read { session in
      try widest.sorted { $0.key < $1.key }.compactMap { try session.lacking($0.value) }
    }
  }

  /// The present value of one column of a record; nil where the record is not alive or the column has its default.
  public func value(zone: ZoneID, table: String, key: Value, column: String) throws -> Value? {
    try read { session in
      let records = ZoneRecords(session, zone: try ZoneRow.obtain(zone, session.sql))
      let ref = RecordRef(table: try session.catalog.tableNumber(table), key: key)
      guard let record = try records.load(ref) else { return nil }
      return try records.values(ref, record)[try session.catalog.columnNumber(column, of: ref.table)]
    }
  }

  /// Rows of a synchronized table.
  public func rowCount(_ table: String) throws -> Int {
    try read { Int(try $0.sql.integer("SELECT count(*) FROM main.\(table.quotedName)") ?? 0) }
  }
}

extension Session {
  fileprivate func lacking(_ description: SchemaDescription) throws -> Store.LackingTable? {
    let here = try TableSchema.read(db, description.name)
    let isTracked = try TrackedTable.read(db, name: description.name) != nil
    let lacking = description.columns.indices.filter { here?.column(description.columns[$0].name) == nil }
    guard !lacking.isEmpty || !isTracked else { return nil }
    var statements: [String] = []
    var refusal: String?
    do {
      statements = here == nil ? [try description.createTable()] : try lacking.map { try description.addColumn($0) }
    } catch {
      refusal = "its description breaks a rule: \(error)"
    }
    return Store.LackingTable(
      table: description.name, exists: here != nil, columns: lacking.map { description.columns[$0].name },
      statements: statements, refusal: refusal, description: description)
  }
}
