import SwiftSyntax
import SwiftSyntaxBuilder

extension ExprSyntax {
  /// The type of this initial value, as far as its spelling tells.
  ///
  /// Literals have their default types. `Date()`, `UUID.init()` and `Priority.low` name a type: a factory that returns
  /// another type than the one it is a member of needs an annotation, and the compiler then says so at the property.
  var spelledType: TypeSyntax? {
    if let name = literalTypeName { return "Swift.\(raw: name)" }
    if let negative = self.as(PrefixOperatorExprSyntax.self) { return negative.expression.spelledType }
    if let cast = self.as(AsExprSyntax.self), cast.questionOrExclamationMark == nil { return cast.type.trimmed }
    if let cast = self.as(SequenceExprSyntax.self) { return cast.castType }
    if let array = self.as(ArrayExprSyntax.self) { return array.elementType.map { "[\($0)]" } }
    if let call = self.as(FunctionCallExprSyntax.self) { return call.calledExpression.constructedType }
    if let member = self.as(MemberAccessExprSyntax.self) { return member.base?.typeName }
    return nil
  }

  private var literalTypeName: String? {
    switch kind {
    case .stringLiteralExpr: "String"
    case .integerLiteralExpr: "Int"
    case .floatLiteralExpr: "Double"
    case .booleanLiteralExpr: "Bool"
    default: nil
    }
  }

  /// The type that a call of this expression makes: `Date` of `Date(…)`, `UUID` of `UUID.init(…)`.
  private var constructedType: TypeSyntax? {
    if let type = typeName { return type }
    return self.as(MemberAccessExprSyntax.self)?.base?.typeName
  }

  /// This expression as the name of a type: a path whose last component begins with a capital.
  private var typeName: TypeSyntax? {
    let name: TokenSyntax
    if let reference = self.as(DeclReferenceExprSyntax.self) {
      name = reference.baseName
    } else if let member = self.as(MemberAccessExprSyntax.self), let base = member.base, base.typeName != nil {
      name = member.declName.baseName
    } else if let generic = self.as(GenericSpecializationExprSyntax.self), generic.expression.typeName != nil {
      return "\(trimmed)"
    } else if let array = self.as(ArrayExprSyntax.self), array.elements.count == 1 {
      return array.elements.first?.expression.typeName.map { "[\($0)]" }
    } else {
      return nil
    }
    return name.text.unquoted.first?.isUppercase == true ? "\(trimmed)" : nil
  }
}

extension SequenceExprSyntax {
  /// The type at the end of `value as Type`.
  fileprivate var castType: TypeSyntax? {
    let parts = Array(elements)
    guard parts.count == 3, let cast = parts[1].as(UnresolvedAsExprSyntax.self), cast.questionOrExclamationMark == nil
    else { return nil }
    return parts[2].as(TypeExprSyntax.self)?.type.trimmed
  }
}

extension ArrayExprSyntax {
  fileprivate var elementType: TypeSyntax? {
    guard let type = elements.first?.expression.spelledType else { return nil }
    return elements.allSatisfy { $0.expression.spelledType?.trimmedDescription == type.trimmedDescription } ? type : nil
  }
}

extension TypeSyntax {
  /// Whether the type is spelled as an optional: `T?`, `T!` or `Optional<T>`.
  var isOptional: Bool { wrapped != nil }

  /// The type inside an optional type.
  var wrapped: TypeSyntax? {
    if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType }
    if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType }
    if let generic = self.as(IdentifierTypeSyntax.self)?.optionalArgument { return generic }
    return self.as(MemberTypeSyntax.self)?.optionalArgument
  }
}

extension IdentifierTypeSyntax {
  fileprivate var optionalArgument: TypeSyntax? {
    name.text == "Optional" ? genericArgumentClause?.arguments.first?.argument.as(TypeSyntax.self) : nil
  }
}

extension MemberTypeSyntax {
  fileprivate var optionalArgument: TypeSyntax? {
    name.text == "Optional" ? genericArgumentClause?.arguments.first?.argument.as(TypeSyntax.self) : nil
  }
}
