import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Reads the declaration that `@DatabaseFunction` is attached to, and collects what is wrong with it.
struct FunctionReader {
  /// The declarations around it, the innermost first.
  let surroundings: [Syntax]
  private(set) var diagnostics: [Diagnostic] = []

  init(surroundings: [Syntax]) {
    self.surroundings = surroundings
  }

  private mutating func report(_ id: String, _ message: String, at node: some SyntaxProtocol) {
    diagnostics.append(Diagnostic(node: Syntax(node), message: Problem("function.\(id)", message)))
  }

  /// Returns nothing if the declaration has an error.
  mutating func read(_ declaration: some DeclSyntaxProtocol, attribute: AttributeSyntax) -> DatabaseFunctionModel? {
    var model: DatabaseFunctionModel?
    if let function = declaration.as(FunctionDeclSyntax.self) {
      model = read(function)
    } else if let variable = declaration.as(VariableDeclSyntax.self) {
      model = read(variable)
    } else {
      report("kind", "'@DatabaseFunction' can only be applied to a function or a computed property", at: attribute)
    }
    if let name = attribute.name {
      if let text = name.literalText, !text.isEmpty {
        model?.name = text
      } else {
        report("name", "the function's name has to be a string literal without interpolation", at: name)
      }
    }
    if let flag = attribute["isDeterministic"] {
      if let value = flag.literalFlag {
        model?.isDeterministic = value
      } else {
        report("flag", "'isDeterministic:' has to be 'true' or 'false' literally", at: flag)
      }
    }
    if let representation = attribute["as"] { apply(representation, to: &model) }
    for value in model?.values ?? [] where diagnostics.isEmpty {
      guard let kind = value.unstorableKind else { continue }
      report("storage", "SQL can't take or return \(kind); name a representation with 'as:'", at: attribute)
    }
    checkPlace(of: declaration, attribute: attribute)
    return diagnostics.isEmpty ? model?.replacingSelf(by: surroundings.first?.declaredName ?? "Self") : nil
  }

  /// Reports a place where the type that the macro makes can't stand, or from which SQL can't call.
  private mutating func checkPlace(of declaration: some DeclSyntaxProtocol, attribute: AttributeSyntax) {
    let modifiers = declaration.asProtocol((any WithModifiersSyntax).self)?.modifiers ?? []
    let attributes = declaration.asProtocol((any WithAttributesSyntax).self)?.attributes ?? []
    if surroundings.first?.isProtocol((any DeclGroupSyntax).self) == false {
      report(
        "local",
        "'@DatabaseFunction' can't be applied inside of a function, because Swift doesn't find there what it makes; "
          + "move the declaration out of the function",
        at: attribute)
    }
    if surroundings.first?.is(ProtocolDeclSyntax.self) == true {
      report(
        "protocol",
        "'@DatabaseFunction' can't be applied to a requirement, because a protocol has no function to call; "
          + "apply it in the type that conforms",
        at: attribute)
    }
    if modifiers.contains(.mutating) {
      report("mutating", "SQL can't call a mutating function, because it has no variable to change", at: attribute)
    }
    let isFree = modifiers.contains(.nonisolated) || modifiers.contains(.static)
    if attributes.first("MainActor") != nil || (surroundings.first?.is(ActorDeclSyntax.self) == true && !isFree) {
      report(
        "actor", "SQL can't call a function of an actor, because SQLite doesn't wait; write 'nonisolated'",
        at: attribute)
    }
  }

  private mutating func read(_ function: FunctionDeclSyntax) -> DatabaseFunctionModel? {
    let name = function.name.text
    let signature = function.signature
    if let generics = function.genericParameterClause {
      report("generic", "SQL can't call generic function '\(name)'; write the types of its parameters", at: generics)
    }
    if case .binaryOperator = function.name.tokenKind {
      report("operator", "SQL can't call operator '\(name)'; write a function with a name", at: function.name)
    }
    if let async = signature.effectSpecifiers?.asyncSpecifier {
      report(
        "async", "SQL can't call asynchronous function '\(name)', because SQLite doesn't wait; remove 'async'",
        at: async)
    }
    var model = DatabaseFunctionModel(
      property: name, name: name.unquoted, access: function.modifiers.anyAccess,
      isStatic: function.modifiers.contains(.static) || function.modifiers.contains(.class), isDeterministic: false,
      isProperty: false, isAggregate: false, isThrowing: signature.effectSpecifiers?.throwsClause != nil, arguments: [],
      result: signature.returnClause.flatMap { $0.type.isVoid ? nil : $0.type.trimmed })
    let parameters = Array(signature.parameterClause.parameters)
    if parameters.count == 1, let element = parameters[0].type.sequenceElement {
      model.isAggregate = true
      model.label = parameters[0].firstName.text == "_" ? nil : parameters[0].firstName.text
      model.arguments = element.rowArguments(named: (parameters[0].secondName ?? parameters[0].firstName).text)
      return model
    }
    for (index, parameter) in parameters.enumerated() {
      let written = (parameter.secondName ?? parameter.firstName).text
      let inner = written == "_" ? "value\(index)" : written
      if parameter.ellipsis != nil || parameter.type.isInout {
        report(
          "parameter",
          "SQL can't pass \(parameter.ellipsis == nil ? "an 'inout'" : "a variadic") argument to '\(name)'; "
            + "take a plain value",
          at: parameter)
      }
      if parameter.type.is(SomeOrAnyTypeSyntax.self) {
        report(
          "opaque",
          "SQL can't call '\(name)', because the type of '\(inner)' is open; "
            + "write a type, or make 'some Sequence' the only parameter for an aggregate",
          at: parameter.type)
      }
      model.arguments.append(
        DatabaseFunctionModel.Argument(
          label: parameter.firstName.text == "_" ? nil : parameter.firstName.text, name: inner,
          type: parameter.type.passed))
    }
    return model
  }

  private mutating func read(_ variable: VariableDeclSyntax) -> DatabaseFunctionModel? {
    guard variable.bindings.count == 1, let binding = variable.bindings.first,
      let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text, !binding.isStored,
      let type = binding.typeAnnotation?.type.trimmed
    else {
      report(
        "stored", "'@DatabaseFunction' can only be applied to a function or a computed property; this one is stored",
        at: variable)
      return nil
    }
    var isThrowing = false
    if case .accessors(let accessors) = binding.accessorBlock?.accessors {
      for accessor in accessors {
        isThrowing = isThrowing || accessor.effectSpecifiers?.throwsClause != nil
        if let async = accessor.effectSpecifiers?.asyncSpecifier {
          report(
            "async", "SQL can't call asynchronous property '\(name)', because SQLite doesn't wait; remove 'async'",
            at: async)
        }
      }
    }
    return DatabaseFunctionModel(
      property: name, name: name.unquoted, access: variable.modifiers.anyAccess,
      isStatic: variable.modifiers.contains(.static) || variable.modifiers.contains(.class), isDeterministic: false,
      isProperty: true, isAggregate: false, isThrowing: isThrowing, arguments: [], result: type)
  }

  /// Takes the representations of arguments and result from `as: ((A, B) -> C).self`.
  private mutating func apply(_ expression: ExprSyntax, to model: inout DatabaseFunctionModel?) {
    guard let type = expression.metatype?.functionType else {
      report(
        "as", "'as:' needs a function type, as in '@DatabaseFunction(as: ((Date.UnixTimeRepresentation) -> Int).self)'",
        at: expression)
      return
    }
    guard var function = model else { return }
    var types = type.parameters.map(\.type.trimmed)
    if function.isAggregate, types.count == 1, let element = types[0].sequenceElement {
      types = element.rowArguments(named: "").map(\.type)
    }
    guard types.count == function.arguments.count else {
      report(
        "as", "'as:' describes \(types.count) arguments, but '\(function.property)' takes \(function.arguments.count)",
        at: expression)
      return
    }
    for (index, type) in types.enumerated() { function.arguments[index].representation = type }
    if function.result != nil { function.resultRepresentation = type.returnClause.type.trimmed }
    model = function
  }
}

extension DeclModifierListSyntax {
  /// The access that the source writes, for a peer that is as visible as the declaration.
  fileprivate var anyAccess: String {
    let levels: [Keyword] = [.public, .open, .package, .internal, .fileprivate, .private]
    for modifier in self where modifier.detail == nil {
      if let level = levels.first(where: { modifier.name.tokenKind == .keyword($0) }) {
        return level == .open ? "public " : "\(modifier.name.text) "
      }
    }
    return ""
  }
}

extension DatabaseFunctionModel {
  /// The types of the values that SQL passes and receives.
  fileprivate var values: [TypeSyntax] { arguments.map(\.value) + [resultRepresentation ?? result].compactMap(\.self) }

  /// The expansion nests a type, in which `Self` would mean that type.
  fileprivate func replacingSelf(by name: String) -> Self {
    var model = self
    for index in arguments.indices {
      model.arguments[index].type = arguments[index].type.replacingSelf(by: name)
      model.arguments[index].representation = arguments[index].representation?.replacingSelf(by: name)
    }
    model.result = result?.replacingSelf(by: name)
    model.resultRepresentation = resultRepresentation?.replacingSelf(by: name)
    return model
  }
}

extension TypeSyntax {
  /// The type of a value that is passed, without `consuming`, `borrowing` or `sending`.
  fileprivate var passed: TypeSyntax {
    guard let attributed = self.as(AttributedTypeSyntax.self), attributed.attributes.isEmpty else { return trimmed }
    return attributed.baseType.trimmed
  }

  fileprivate var isInout: Bool {
    self.as(AttributedTypeSyntax.self)?.specifiers.contains {
      $0.as(SimpleTypeSpecifierSyntax.self)?.specifier.tokenKind == .keyword(.inout)
    } ?? false
  }

  fileprivate var isVoid: Bool {
    trimmedDescription == "Void" || trimmedDescription == "Swift.Void"
      || self.as(TupleTypeSyntax.self)?.elements.isEmpty == true
  }

  /// The `T` of `some Sequence<T>` or `any Sequence<T>`.
  fileprivate var sequenceElement: TypeSyntax? {
    let type = self.as(TupleTypeSyntax.self).flatMap { $0.elements.count == 1 ? $0.elements.first?.type : nil } ?? self
    guard let constraint = type.as(SomeOrAnyTypeSyntax.self)?.constraint else { return nil }
    let clause: GenericArgumentClauseSyntax?
    if let name = constraint.as(IdentifierTypeSyntax.self), name.name.text == "Sequence" {
      clause = name.genericArgumentClause
    } else if let name = constraint.as(MemberTypeSyntax.self), name.name.text == "Sequence" {
      clause = name.genericArgumentClause
    } else {
      return nil
    }
    return clause?.arguments.first?.argument.as(TypeSyntax.self)?.trimmed
  }

  /// The arguments of one row of an aggregate: the elements of a tuple, or one value.
  fileprivate func rowArguments(named name: String) -> [DatabaseFunctionModel.Argument] {
    guard let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count > 1 else {
      return [DatabaseFunctionModel.Argument(label: nil, name: name, type: self)]
    }
    return tuple.elements.enumerated().map { index, element in
      let label = element.firstName?.text
      return DatabaseFunctionModel.Argument(
        label: label == "_" ? nil : label, name: label.flatMap { $0 == "_" ? nil : $0 } ?? "value\(index)",
        type: element.type.trimmed)
    }
  }

  /// This type as a function type, with or without parentheses around it.
  fileprivate var functionType: FunctionTypeSyntax? {
    // The type arrives as the text of an expression: parse it as a type.
    let parsed: TypeSyntax = "\(raw: trimmedDescription)"
    if let tuple = parsed.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
      return only.type.functionType
    }
    return parsed.as(FunctionTypeSyntax.self)
  }
}
