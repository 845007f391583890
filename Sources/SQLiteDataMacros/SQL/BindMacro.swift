import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#bind(value, as: T.self)`: a Swift value as a bound expression.
enum BindMacro: ExpressionMacro {
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) -> ExprSyntax {
    "SQLiteDataQueries.BindQueryExpression(\(node.arguments.trimmed))"
  }
}
