import GRDB
import MeshCore

/// Births of records that nobody here knew: most of what arrives in bulk. There is nothing to merge with, so the record and
/// the row are written at once.
final class BirthWriter {
  let table: TableForm
  private let materialiser: Materialiser
  private var records: ZoneRecords { materialiser.records }
  /// For each column of the change set, its index in the table; nil for one that the table lacks.
  private let places: [Int?]
  private let columns: [Int64]
  private var shape: Shape?

  /// What births with the same columns have in common.
  private struct Shape {
    let fields: [Int]
    let insert: Statement
    let birth: BirthShape
    /// Index of the field that spells the key.
    let spelling: Int?
  }

  init(_ materialiser: Materialiser, _ table: TableForm, _ columns: [Int64]) throws {
    self.materialiser = materialiser
    self.table = table
    self.columns = columns
    places = columns.map { table.indexes[$0] }
  }

  /// False where the change, a birth or a delete, is not of this simple kind, the record is known here, or SQLite refuses the
  /// row: then nothing was written.
  func write(_ ref: RecordRef, _ change: RowChange) throws -> Bool {
    guard change.generation.isAlive, table.keeps(change.key), try isSimple(change), let shape else { return false }
    let record = shape.birth.record(
      key: change.key, generation: change.generation, stamp: change.stamp, local: try records.local(change.stamp),
      records.session.cryptography
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
      if try records.session.sql.write(statement) == 0 { throw DatabaseError.ignored }
    } catch let error as DatabaseError where error.refusesRow {
      guard records.session.sql.isInTransaction else { throw TakenBack(ref: ref, message: error.reason) }
      try records.remove(ref, record)
      // RAISE (FAIL) leaves what its statement has done.
      try materialiser.deleteRow(table, change.key)
      return false
    }
    return true
  }

  private func value(_ change: RowChange, _ index: Int) -> Value {
    if case .value(let value) = change.fields[index].value { return value }
    return .null
  }

  /// One stamp for all, values that travel inline, columns that the table has and that keep the values as they are.
  private func isSimple(_ change: RowChange) throws -> Bool {
    for field in change.fields {
      guard field.stamp == nil, case .value(let value) = field.value, let place = places[field.column],
        table.columns[place].schema.affinity.keeps(value)
      else { return false }
    }
    if let shape, shape.fields.count == change.fields.count,
      shape.fields.indices.allSatisfy({ shape.fields[$0] == change.fields[$0].column })
    {
      return true
    }
    shape = try make(change)
    return shape != nil
  }

  /// Nil where SQLite does not prepare the statement: a trigger or a constraint needs what only the app has.
  private func make(_ change: RowChange) throws -> Shape? {
    let fields = change.fields.map(\.column)
    let spelling = fields.firstIndex { places[$0] == table.keyColumn && table.keyColumn != nil }
    let insert: Statement
    do {
      insert = try records.session.sql.statement(table.upsert(fields.compactMap { places[$0] }))
    } catch let error as DatabaseError where error.refusesRow {
      return nil
    }
    return Shape(
      fields: fields, insert: insert,
      birth: try BirthShape(table, fields.map { columns[$0] }, records.session.catalog), spelling: spelling)
  }
}
