public import GRDB
import IssueReporting
import MeshCore
import MeshStore
public import SQLiteDataQueries

/// Declares `$name`, an SQL expression that represents a computed property.
@attached(peer, names: prefixed(`$`))
private macro DatabaseExpression(_ sql: StaticString) =
  #externalMacro(module: "SQLiteDataMacros", type: "DatabaseExpressionMacro")

/// Parts of the engine for SQL: for triggers, and for errors of statements.
extension SyncEngine {
  /// A value for triggers that is true while the node writes rows from other devices. Use only the expression
  /// `$isSynchronizing`.
  ///
  /// ```swift
  /// #sql(
  ///   """
  ///   CREATE TRIGGER "reminders_touch"
  ///   AFTER UPDATE ON "reminders"
  ///   FOR EACH ROW WHEN NOT \(SyncEngine.$isSynchronizing)
  ///   BEGIN
  ///     UPDATE "reminders" SET "updatedAt" = datetime('now') WHERE "id" = NEW."id";
  ///   END
  ///   """
  /// )
  /// ```
  ///
  /// The property itself is false, because no Swift code of the app runs while the node writes.
  @DatabaseExpression("((SELECT applying FROM mesh_state WHERE id = 1) IS 1)")
  public static var isSynchronizing: Bool {
    reportIssue(
      "SyncEngine.isSynchronizing is a value, so a trigger would keep it as it is now. Write SyncEngine.$isSynchronizing."
    )
    return false
  }

  /// Returns the expression `$isSynchronizing`.
  @available(*, deprecated, message: "Use 'SyncEngine.$isSynchronizing'.")
  public static func isSynchronizingChanges() -> SQLQueryExpression<Bool> { $isSynchronizing }

  /// The message of the `DatabaseError` if a statement writes to a row of a share that is read-only for this account.
  ///
  /// ```swift
  /// do {
  ///   try await database.write { db in … }
  /// } catch let error as DatabaseError where error.message == SyncEngine.writePermissionError {
  ///   // User does not have permission to write to this record.
  /// }
  /// ```
  public static let writePermissionError = ZoneStanding.refusal

  /// The message of the `DatabaseError` if a statement gives the root of a share another key. The share belongs to the
  /// row with that key.
  public static let invalidRecordNameError = Store.rootRefusal
}

extension SyncError {
  /// Creates the error with the reason that synchronization refused a statement, or returns nil if it didn't.
  ///
  /// ```swift
  /// } catch let error as DatabaseError where SyncError(error)?.code == .writePermission {
  /// ```
  public init?(_ error: DatabaseError) {
    switch error.message {
    case SyncEngine.writePermissionError:
      self.init(
        .writePermission,
        "The row belongs to a share that this account may only read. Its owner can change that.")
    case SyncEngine.invalidRecordNameError:
      self.init(
        .invalidRecordName,
        "The row is the root of a share, so it can't get another primary key. Insert another row and share that, or stop the "
          + "share first: try await syncEngine.unshare(record: row)")
    default: return nil
    }
  }
}
