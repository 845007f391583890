import SwiftSyntax

/// Replaces `Self` by a type's name, for code that moves into a nested type.
final class SelfReplacement: SyntaxRewriter {
  private let name: String

  init(_ name: String) {
    self.name = name
  }

  override func visit(_ token: TokenSyntax) -> TokenSyntax {
    token.tokenKind == .keyword(.Self) ? token.with(\.tokenKind, .identifier(name)) : token
  }
}

extension SyntaxProtocol {
  func replacingSelf(by name: String) -> Self {
    SelfReplacement(name).rewrite(self).as(Self.self) ?? self
  }
}

extension Column {
  func replacingSelf(by name: String) -> Column {
    var column = self
    column.type = type.replacingSelf(by: name)
    column.representation = representation?.replacingSelf(by: name)
    column.initial = initial?.replacingSelf(by: name)
    return column
  }
}
