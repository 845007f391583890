/// The reason why a part of a table isn't sent to other devices, or isn't accepted from them.
package struct SchemaRefusal: Error, Hashable, Sendable {
  /// A reason. The numbers are those on the wire.
  package enum Reason: UInt8, Hashable, Sendable, CaseIterable {
    /// A form that the grammar doesn't have.
    case syntax = 0
    /// A function that the grammar doesn't have. The detail is its name.
    case function
    /// A `SELECT` inside an expression.
    case subquery
    /// A name that is not a column of the description, such as that of a generated column.
    case column
    /// A pattern or format that is not a short literal, or has too many wildcards.
    case pattern
    /// An expression or a list that is longer than its limit.
    case size
    /// A collation that an app defined.
    case collation
    /// A rule that two machines could break by writing equal values.
    case unique
    /// Triggers and generated columns.
    case program
    /// More parts than a description has room for.
    case number
    /// SQLite refused it here. The detail is its message.
    case refused
    /// SQLite adds it only to a table without rows.
    case rows
  }

  /// The reason, without its detail.
  package var reason: Reason
  /// A name, or a message of SQLite.
  package var detail: String

  package init(_ reason: Reason, _ detail: String = "") {
    self.reason = reason
    self.detail = detail
  }

  /// Bytes of the detail that another device sends.
  static let detailLimit = 64

  /// The end of a sentence for a person, after the name of the part. The detail is made safe for a terminal.
  package var text: String {
    let name = printable(detail, limit: 120)
    return switch reason {
    case .syntax: "it has a form that mesh doesn't carry"
    case .function: "it calls \(name)()"
    case .subquery: "it has a subquery"
    case .column: "it reads \(name), which is no ordinary column"
    case .pattern: "its pattern or format is no short literal"
    case .size: "it is too long"
    case .collation: "its collation \(name) belongs to an app"
    case .unique: "two machines could write equal values"
    case .program: "it stays on the machine that has it"
    case .number: "the table has too many of them"
    case .refused: "SQLite refused it: \(name)"
    case .rows: "SQLite doesn't add it to a table with rows"
    }
  }
}
