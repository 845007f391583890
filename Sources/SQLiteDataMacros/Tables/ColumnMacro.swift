import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// `@Column` and `@Columns`: read by `@Table` and `@Selection`, and checked here for their place.
enum ColumnMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    if !checkPlace(of: node, in: context) { return [] }
    let rule = "'@\(node.baseName)' can only be applied to a stored property or an enum case"
    if let variable = declaration.as(VariableDeclSyntax.self) {
      if variable.modifiers.contains(.static) || variable.modifiers.contains(.class) {
        context.report(Problem("column.static", "\(rule); '\(variable.names)' is static"), at: node)
      } else if !variable.bindings.allSatisfy(\.isStored) {
        context.report(Problem("column.computed", "\(rule); '\(variable.names)' is computed"), at: node)
      }
    } else if !declaration.is(EnumCaseDeclSyntax.self) {
      context.report(Problem("column.kind", rule), at: node)
    }
    return []
  }

  /// Warns about an attribute that no macro reads. Returns whether one does.
  static func checkPlace(of node: AttributeSyntax, in context: some MacroExpansionContext) -> Bool {
    let place = context.lexicalContext.first
    if let attributes = place?.asProtocol((any WithAttributesSyntax).self)?.attributes,
      attributes.first("Table") != nil || attributes.first("Selection") != nil
    {
      return true
    }
    let type = place?.asProtocol((any NamedDeclSyntax).self)?.name.text
    context.report(
      Problem(
        "column.place",
        "'@\(node.baseName)' has no effect outside of a '@Table' or '@Selection' type; "
          + (type.map { "attach '@Table' to '\($0)', or remove this attribute" } ?? "remove this attribute"),
        severity: .warning),
      at: node)
    return false
  }
}

/// `@Ephemeral`: read by `@Table` and `@Selection`, and checked here for its place.
enum EphemeralMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    if ColumnMacro.checkPlace(of: node, in: context), !declaration.is(VariableDeclSyntax.self) {
      context.report(Problem("ephemeral.kind", "'@Ephemeral' can only be applied to a property"), at: node)
    }
    return []
  }
}

extension VariableDeclSyntax {
  fileprivate var names: String {
    bindings.map { $0.pattern.trimmedDescription }.joined(separator: ", ")
  }
}
