import MeshCore
public import SQLiteDataQueries

/// How concurrent writes to a column become one value.
///
/// ```swift
/// try SyncEngine(
///   for: database, tables: Post.self,
///   policies: [.counter(Post.columns.likes), .greatest(Post.columns.bestScore)]
/// )
/// ```
///
/// A column without a policy takes the last edit. The article <doc:ConflictPolicies> has the rules.
public struct ConflictPolicy: Hashable, Sendable {
  let table: String
  let column: String
  let policy: ColumnPolicy

  private init<Root: Table, Value>(_ policy: ColumnPolicy, _ column: some TableColumnExpression<Root, Value>) {
    (table, self.column, self.policy) = (Root.tableName, column.name, policy)
  }

  /// The last edit wins. Every column begins like this, so you need it only to take another policy back.
  public static func last<Root: Table, Value>(_ column: some TableColumnExpression<Root, Value>) -> Self {
    Self(.last, column)
  }

  /// The greatest number or text wins.
  public static func greatest<Root: Table, Value>(_ column: some TableColumnExpression<Root, Value>) -> Self {
    Self(.greatest, column)
  }

  /// The least number or text wins.
  public static func least<Root: Table, Value>(_ column: some TableColumnExpression<Root, Value>) -> Self {
    Self(.least, column)
  }

  /// A write counts as its difference from the value that was there, so no increment is lost. The column has the type
  /// INTEGER.
  public static func counter<Root: Table, Value>(_ column: some TableColumnExpression<Root, Value>) -> Self {
    Self(.counter, column)
  }

  /// The last edit wins, and ``SyncEngine/keptValues(_:of:)`` lists the last values that each device wrote.
  public static func keepBoth<Root: Table, Value>(_ column: some TableColumnExpression<Root, Value>) -> Self {
    Self(.keepBoth, column)
  }
}
