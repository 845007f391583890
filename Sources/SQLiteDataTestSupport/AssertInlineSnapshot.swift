import CustomDump
import IssueReporting
public import SQLiteDataQueries

/// How ``assertInlineSnapshot(of:as:_:matches:fileID:filePath:line:column:)`` writes a value as text.
public struct SnapshotRendering<Value> {
  let text: (Value) -> String
}

extension SnapshotRendering<String> {
  /// The text itself.
  public static var lines: Self { Self { $0 } }
}

extension SnapshotRendering {
  /// The properties of a value, each in a line.
  public static var customDump: Self { Self { dumped($0) } }
}

extension SnapshotRendering where Value: SQLiteDataQueries.Statement {
  /// The SQL of a statement, with the bound values in their places.
  public static var sql: Self {
    Self { $0.query.debugDescription }
  }
}

/// Compares a value, written as text, with an expected text. The issue that it reports shows the difference.
///
/// ```swift
/// assertInlineSnapshot(of: Reminder.where(\.isCompleted), as: .sql) {
///   """
///   SELECT … FROM "reminders" WHERE "reminders"."isCompleted"
///   """
/// }
/// ```
public func assertInlineSnapshot<Value>(
  of value: Value, as rendering: SnapshotRendering<Value>, _ subject: String = "value",
  matches expected: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  let actual = rendering.text(value)
  let problem: String
  if let expected = expected?() {
    guard actual != expected else { return }
    problem =
      "The \(subject) differs (-: expected, +: actual):\n\n"
      + (diff(expected, actual) ?? actual)
  } else {
    problem = "There is no expected text for the \(subject). It is:\n\n\(actual)"
  }
  reportIssue(problem, fileID: fileID, filePath: filePath, line: line, column: column)
}
