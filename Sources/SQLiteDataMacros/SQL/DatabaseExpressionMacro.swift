import SwiftSyntax
import SwiftSyntaxMacros

/// `@DatabaseExpression("sql")`: declares `$name`, an SQL expression that stands for a computed property. For the modules of this
/// package.
enum DatabaseExpressionMacro: PeerMacro {
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    guard let variable = declaration.as(VariableDeclSyntax.self), let binding = variable.bindings.first,
      let type = binding.typeAnnotation?.type.trimmedDescription,
      case .argumentList(let arguments)? = node.arguments, let sql = arguments.first?.expression.trimmedDescription
    else { return [] }
    let modifiers = variable.modifiers.map { "\($0.trimmedDescription) " }.joined()
    let name = binding.pattern.trimmedDescription
    return [
      DeclSyntax(
        source: "\(modifiers)var $\(name): SQLQueryExpression<\(type)> { SQLQueryExpression(QueryFragment(\(sql))) }")
    ]
  }
}
