import SwiftSyntax

// The compiler parses what a macro returns in any case. Parsing and formatting it here first, in a plug-in that debug
// builds compile without optimisation, took three quarters of the time of an expansion.

extension DeclSyntax {
  /// Makes a declaration that is only a text.
  init(source: String) {
    self.init(MissingDeclSyntax(attributes: [], modifiers: [], placeholder: .identifier(source)))
  }
}

extension ExtensionDeclSyntax {
  /// Makes an extension whose header and members are only texts.
  init(header: String, members: String) {
    self.init(
      extensionKeyword: .identifier("nonisolated extension "),
      extendedType: IdentifierTypeSyntax(name: .identifier(header)),
      memberBlock: MemberBlockSyntax(
        leftBrace: .identifier(" {\n"), members: [MemberBlockItemSyntax(decl: DeclSyntax(source: members))],
        rightBrace: .identifier("\n}")))
  }
}
