import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

extension AttributeListSyntax {
  /// The first attribute of this name, qualified by a module or not.
  func first(_ name: String) -> AttributeSyntax? {
    for case .attribute(let attribute) in self where attribute.baseName == name {
      return attribute
    }
    return nil
  }

  /// An attribute of one of these names inside of `#if`.
  func conditional(_ names: [String]) -> AttributeSyntax? {
    for case .ifConfigDecl(let condition) in self {
      for clause in condition.clauses {
        guard case .attributes(let attributes) = clause.elements else { continue }
        if let found = names.lazy.compactMap(attributes.first).first ?? attributes.conditional(names) { return found }
      }
    }
    return nil
  }
}

extension AttributeSyntax {
  /// The attribute's name without a module.
  var baseName: String {
    attributeName.as(MemberTypeSyntax.self)?.name.text ?? attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? ""
  }

  private var list: LabeledExprListSyntax {
    arguments?.as(LabeledExprListSyntax.self) ?? []
  }

  /// The unnamed first argument.
  var name: ExprSyntax? {
    guard let first = list.first, first.label == nil else { return nil }
    return first.expression
  }

  /// The argument with a label.
  subscript(label: String) -> ExprSyntax? {
    list.first { $0.label?.text == label }?.expression
  }
}

extension DeclModifierListSyntax {
  func contains(_ keyword: Keyword) -> Bool {
    contains { $0.name.tokenKind == .keyword(keyword) }
  }

  /// The access modifier of generated members, which makes them as visible as the type itself.
  var access: String {
    for modifier in self where modifier.detail == nil {
      switch modifier.name.tokenKind {
      case .keyword(.public), .keyword(.open): return "public "
      case .keyword(.package): return "package "
      default: continue
      }
    }
    return ""
  }
}

extension ExprSyntax {
  /// The type in `T.self`.
  var metatype: TypeSyntax? {
    guard let member = self.as(MemberAccessExprSyntax.self), member.declName.baseName.tokenKind == .keyword(.self)
    else { return nil }
    return member.base.map { "\($0.trimmed)" }
  }

  /// The text of a string literal without interpolations.
  var literalText: String? {
    self.as(StringLiteralExprSyntax.self)?.representedLiteralValue
  }

  /// The value of `true` or `false`.
  var literalFlag: Bool? {
    self.as(BooleanLiteralExprSyntax.self).map { $0.literal.tokenKind == .keyword(.true) }
  }

  var isNil: Bool { self.is(NilLiteralExprSyntax.self) }
}

extension String {
  /// A Swift string literal of this text.
  var literal: String { ExprSyntax(literal: self).description }
}
