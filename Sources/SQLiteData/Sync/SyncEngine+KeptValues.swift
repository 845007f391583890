public import Foundation
import MeshControl
public import SQLiteDataQueries

/// A value that a device wrote to a column with the policy ``ConflictPolicy/keepBoth(_:)``.
public struct KeptValue: Hashable, Sendable {
  /// The value, as a text.
  public let value: String
  /// The name of the device that wrote it, or nil if it isn't known.
  public let device: String?
  /// The time at which the device wrote it, or nil if it isn't known.
  public let date: Date?
}

extension SyncEngine {
  /// Returns the history of a column of a row, the newest value first: the last 8 values that each device wrote. All
  /// devices of the mesh have the same ones.
  ///
  /// - Parameters:
  ///   - column: A column with the policy ``ConflictPolicy/keepBoth(_:)``. Other columns have no such values.
  ///   - record: A row of the column's table.
  /// - Throws: ``SyncError`` if the node doesn't know the row.
  public func keptValues<T: PrimaryKeyedTable, Value>(
    _ column: some TableColumnExpression<T, Value>, of record: T
  ) async throws -> [KeptValue] where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
    let report = try await perform(RecordRequest(table: T.tableName, key: record.keyLiteral))
    // The first record is the one that the table shows.
    let parts = (report.records.first?.columns ?? []).filter { $0.name.hasPrefix("\(column.name) (kept by ") }
    return parts.map { KeptValue(value: $0.value.keyText, device: $0.by.deviceName, date: $0.by.written) }
      .sorted { $0.date ?? .distantPast > $1.date ?? .distantPast }
  }
}
