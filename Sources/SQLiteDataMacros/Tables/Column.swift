import SwiftSyntax

/// A column of a table or selection, or a group of columns: a stored property, or a case of an enum.
struct Column {
  /// The source of a generated column's value.
  enum Generation: String {
    case stored, virtual
  }

  /// The Swift name, in backticks if the source writes them.
  var property: String
  /// The SQL name.
  var name: String
  /// The type of the property.
  var type: TypeSyntax
  /// The type that stands in the column: `as:`, or the property's own.
  var representation: TypeSyntax?
  /// The initial value in the source.
  var initial: ExprSyntax?
  /// Whether the source says that this is the key (true), is not (false), or nothing.
  var primaryKey: Bool?
  var generation: Generation?
  /// Whether a draft may leave the value to the database.
  var isLazy = false
  /// Whether `@Columns` declares a group.
  var isGroup = false
  var isConstant = false
  /// The label of an enum case's value.
  var label: String?
  var syntax: Syntax

  /// The type that queries know: what the column stores.
  var value: TypeSyntax { representation ?? type }
}
