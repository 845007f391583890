import GRDB
import MeshCore

/// Writes births of records that are unknown here, which are most of a bulk transfer. There is nothing to merge with,
/// so the record and the row are written at once.
final class BirthWriter {
  let table: TableForm
  private let materialiser: Materialiser
  private var records: ZoneRecords { materialiser.records }
  /// For each column of the change set, its index in the table, or nil if the table lacks it.
  private let places: [Int?]
  private let columns: [Int64]
  private var shape: Shape?

  /// The common parts of births with the same columns.
  private struct Shape {
    let fields: [Int]
    let insert: PreparedStatement
    let birth: BirthShape
    /// The index of the field that spells the key.
    let spelling: Int?
  }

  init(_ materialiser: Materialiser, _ table: TableForm, _ columns: [Int64]) throws {
    self.materialiser = materialiser
    self.table = table
    self.columns = columns
    places = columns.map { table.indexes[$0] }
  }

  /// Writes a birth. Returns false, and writes nothing, if the change is not of this simple kind, the record is known
  /// here, or SQLite refuses the row.
  func write(_ ref: RecordRef, _ change: RowChange) throws -> Bool {
    guard change.generation.isAlive, table.keeps(change.key), let shape = try preparedShape(for: change) else {
      return false
    }
    let record = shape.birth.record(
      key: change.key, generation: change.generation, stamp: change.stamp, local: try records.local(change.stamp),
      records.transaction.cryptography
    ) { value(change, $0) }
    guard try records.insert(ref, record) else { return false }
    let statement = shape.insert
    statement.bind(shape.spelling.map { value(change, $0) } ?? change.key, at: 1)
    var parameter = 2
    for index in change.fields.indices where index != shape.spelling {
      statement.bind(value(change, index), at: parameter)
      parameter += 1
    }
    do {
      if try records.transaction.sql.write(statement) == 0 { throw DatabaseError.ignored }
    } catch let error as DatabaseError where error.refusesRow {
      guard records.transaction.sql.isInTransaction else {
        throw RecordFailure(ref: ref, cause: .rolledBack(error.reason))
      }
      try records.remove(ref, record)
      // RAISE (FAIL) leaves the changes of its statement.
      try materialiser.rows.deleteRow(table, change.key)
      return false
    }
    return true
  }

  private func value(_ change: RowChange, _ index: Int) -> Value {
    if case .value(let value) = change.fields[index].value { return value }
    return .null
  }

  /// Returns the shape of a change that has one stamp for all fields, and whose values travel inline, if the table has
  /// the columns and keeps the values unchanged. Returns nil for all others.
  private func preparedShape(for change: RowChange) throws -> Shape? {
    for field in change.fields {
      guard field.stamp == nil, case .value(let value) = field.value, let place = places[field.column],
        table.columns[place].schema.affinity.keeps(value), table.holds(value)
      else { return nil }
    }
    if let shape, shape.fields.count == change.fields.count,
      shape.fields.indices.allSatisfy({ shape.fields[$0] == change.fields[$0].column })
    {
      return shape
    }
    shape = try make(change)
    return shape
  }

  /// Returns nil if SQLite can't prepare the statement, because a trigger or a constraint needs something that only the
  /// app has.
  private func make(_ change: RowChange) throws -> Shape? {
    let fields = change.fields.map(\.column)
    let spelling = fields.firstIndex { places[$0] == table.keyColumn && table.keyColumn != nil }
    let insert: PreparedStatement
    do {
      insert = try records.transaction.sql.statement(table.upsert(fields.compactMap { places[$0] }))
    } catch let error as DatabaseError where error.refusesRow {
      return nil
    }
    return Shape(
      fields: fields, insert: insert,
      birth: try BirthShape(table, fields.map { columns[$0] }, records.transaction.catalog), spelling: spelling)
  }
}
