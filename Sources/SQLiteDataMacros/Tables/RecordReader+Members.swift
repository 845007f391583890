import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

extension RecordReader {
  mutating func properties(of declaration: some DeclGroupSyntax) -> [Column] {
    declaration.memberBlock.members.flatMap { member -> [Column] in
      if let variable = member.decl.as(VariableDeclSyntax.self) { return columns(of: variable) }
      if let condition = member.decl.as(IfConfigDeclSyntax.self), condition.declaresStoredProperty {
        report(
          "condition",
          "\(macro) can't see which branch of '#if' is compiled, so stored properties can't be inside it; "
            + "move the condition around the whole type",
          at: condition)
      }
      return []
    }
  }

  private mutating func columns(of variable: VariableDeclSyntax) -> [Column] {
    guard !variable.modifiers.contains(.static), !variable.modifiers.contains(.class) else { return [] }
    guard checkConditions(of: variable.attributes) else { return [] }
    let ephemeral = variable.attributes.first("Ephemeral")
    var type: TypeSyntax?
    var columns: [Column] = []
    // In `var a, b: Int` the type stands at the last name only.
    for binding in variable.bindings.reversed() {
      if let annotation = binding.typeAnnotation { type = annotation.type.trimmed }
      guard binding.isStored else { continue }
      if ephemeral != nil {
        checkEphemeral(binding, in: variable, type: type)
      } else if let column = column(of: binding, in: variable, type: type) {
        columns.append(column)
      }
    }
    return columns.reversed()
  }

  private mutating func column(
    of binding: PatternBindingSyntax, in variable: VariableDeclSyntax, type annotated: TypeSyntax?
  ) -> Column? {
    guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
      report(
        "pattern", "\(macro) needs one name for each column; declare the properties of this tuple one by one",
        at: binding.pattern)
      return nil
    }
    if let reference = variable.modifiers.first(where: \.isReference) {
      report(
        "reference",
        "'\(identifier)' can't be a column, because it refers to an object; remove '\(reference.name.text)' or mark it "
          + "'@Ephemeral'",
        at: reference)
      return nil
    }
    if variable.modifiers.contains(.lazy) {
      report(
        "lazy",
        "lazy property '\(identifier)' can't be a column, because it has no value until it is read; "
          + "remove 'lazy' or mark it '@Ephemeral'",
        at: variable)
      return nil
    }
    let initial = binding.initializer?.value.trimmed
    guard let type = annotated ?? spelledType(of: initial) else {
      report(
        "type", "\(macro) can't tell the type of '\(identifier)' from its initial value; write the type",
        at: binding.pattern, fixIts: [annotation(of: binding)])
      return nil
    }
    var column = Column(
      property: identifier, name: identifier.unquoted, type: type.plain, initial: initial,
      isConstant: variable.bindingSpecifier.tokenKind == .keyword(.let), syntax: Syntax(binding.pattern))
    if initial == nil, type.isOptional, !column.isConstant { column.initial = "nil" }
    read(variable.attributes, into: &column, binding: variable)
    checkStorage(of: column)
    return column
  }

  /// The type of an initial value, unless the value can't be of the type that its spelling names.
  private func spelledType(of initial: ExprSyntax?) -> TypeSyntax? {
    guard let initial, !initial.isNil, let type = initial.spelledType else { return nil }
    // `Self.start` is a value of another type: a row can't be in its own column. `Optional(1)` leaves out an argument.
    let incomplete = ["Self", typeName, "Array", "Dictionary", "Optional", "Set"]
    return incomplete.contains(type.trimmedDescription) ? nil : type
  }

  /// Reports a type that no column can hold.
  private mutating func checkStorage(of column: Column) {
    guard column.representation == nil else { return }
    if let list = column.type.listOfValues {
      report(
        "list",
        "'\(column.property)' can't be a column, because it holds an array; to store it as JSON, write "
          + "'@Column(as: \(list).JSONRepresentation.self)'",
        at: column.syntax)
    }
    guard let kind = column.type.unstorableKind else { return }
    report(
      "storage",
      "'\(column.property)' can't be a column, because it holds \(kind); name a representation with '@Column(as:)'"
        + (column.syntax.is(EnumCaseElementSyntax.self) ? "" : ", or mark it '@Ephemeral'"),
      at: column.syntax)
  }

  /// Reports an attribute that decides what is generated inside of `#if`.
  private mutating func checkConditions(of attributes: AttributeListSyntax) -> Bool {
    guard let attribute = attributes.conditional(["Column", "Columns", "Ephemeral"]) else { return true }
    report(
      "conditionalAttribute",
      "\(macro) can't see which branch of '#if' is compiled, so '@\(attribute.baseName)' can't be inside it; "
        + "move the condition around the whole type",
      at: attribute)
    return false
  }

  private func annotation(of binding: PatternBindingSyntax) -> FixIt {
    let fixed =
      binding
      .with(\.pattern, binding.pattern.with(\.trailingTrivia, []))
      .with(
        \.typeAnnotation,
        TypeAnnotationSyntax(
          colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("<#Type#>"), trailingTrivia: .space))
    return .replace("Insert ': <#Type#>'", binding, with: fixed)
  }

  private mutating func checkEphemeral(
    _ binding: PatternBindingSyntax, in variable: VariableDeclSyntax, type: TypeSyntax?
  ) {
    if let column = variable.attributes.first("Column") ?? variable.attributes.first("Columns") {
      report(
        "ephemeralColumn",
        "'\(binding.pattern.trimmed)' can't be '@Ephemeral' and '@\(column.baseName)' at once; remove one of them",
        at: column)
    }
    let isVariable = variable.bindingSpecifier.tokenKind == .keyword(.var)
    guard binding.initializer == nil, !(isVariable && type?.isOptional == true) else { return }
    let value = InitializerClauseSyntax(
      equal: .equalToken(leadingTrivia: .space, trailingTrivia: .space),
      value: ExprSyntax("<#value#>").with(\.trailingTrivia, binding.trailingTrivia))
    let fixed = binding.with(\.trailingTrivia, []).with(\.initializer, value)
    report(
      "ephemeral",
      "ephemeral property '\(binding.pattern.trimmed)' needs an initial value, because no column gives it one",
      at: binding.pattern, fixIts: [.replace("Insert ' = <#value#>'", binding, with: fixed)])
  }
}

extension RecordReader {
  mutating func cases(of declaration: some DeclGroupSyntax, named type: String) -> [Column] {
    var columns: [Column] = []
    for member in declaration.memberBlock.members {
      if let condition = member.decl.as(IfConfigDeclSyntax.self), condition.declaresCase {
        report(
          "condition",
          "\(macro) can't see which branch of '#if' is compiled, so cases can't be inside it; "
            + "move the condition around the whole type",
          at: condition)
      }
      guard let list = member.decl.as(EnumCaseDeclSyntax.self), checkConditions(of: list.attributes) else { continue }
      for element in list.elements {
        guard let parameter = element.parameterClause?.parameters.first, element.parameterClause?.parameters.count == 1
        else {
          let rule = "case '\(element.name.text)' of '\(type)' needs exactly one associated value"
          let why =
            element.parameterClause == nil
            ? "a row shows its case by the column that isn't NULL; give it a value, as in '\(element.name.text)(Bool)'"
            : "put the values into a '@Selection' struct"
          report("case", "\(rule): \(why)", at: element)
          continue
        }
        var column = Column(
          property: element.name.text, name: element.name.text.unquoted, type: parameter.type.trimmed,
          syntax: Syntax(element))
        column.label = parameter.firstName?.text
        read(list.attributes, into: &column, binding: nil)
        checkStorage(of: column)
        columns.append(column)
      }
    }
    return columns
  }
}

extension PatternBindingSyntax {
  /// Whether the property has storage: no accessors, or observers only.
  var isStored: Bool {
    switch accessorBlock?.accessors {
    case nil: true
    case .getter: false
    case .accessors(let accessors):
      accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
  }
}

extension IfConfigDeclSyntax {
  fileprivate var declaresStoredProperty: Bool {
    declares { declaration in
      guard let variable = declaration.as(VariableDeclSyntax.self) else { return false }
      return !variable.modifiers.contains(.static) && variable.attributes.first("Ephemeral") == nil
        && variable.bindings.contains(where: \.isStored)
    }
  }

  fileprivate var declaresCase: Bool { declares { $0.is(EnumCaseDeclSyntax.self) } }

  /// Whether a declaration in one of the branches fulfils a condition.
  private func declares(_ condition: (DeclSyntax) -> Bool) -> Bool {
    clauses.contains { clause in
      guard case .decls(let members) = clause.elements else { return false }
      return members.contains { $0.decl.as(IfConfigDeclSyntax.self)?.declares(condition) ?? condition($0.decl) }
    }
  }
}

extension DeclModifierSyntax {
  fileprivate var isReference: Bool {
    name.tokenKind == .keyword(.weak) || name.tokenKind == .keyword(.unowned)
  }
}

extension TypeSyntax {
  /// The kind of this type if no column can hold its values, such as a tuple.
  var unstorableKind: String? {
    if let wrapped { return wrapped.unstorableKind }
    if let attributed = self.as(AttributedTypeSyntax.self) { return attributed.baseType.unstorableKind }
    if let tuple = self.as(TupleTypeSyntax.self) {
      return tuple.elements.count == 1 ? tuple.elements.first?.type.unstorableKind : "a tuple"
    }
    if self.is(FunctionTypeSyntax.self) { return "a function" }
    return self.is(SomeOrAnyTypeSyntax.self) ? "a value whose type is open" : nil
  }

  /// This array type as it stands before a representation, if its elements aren't bytes as far as their spelling tells.
  fileprivate var listOfValues: String? {
    if let wrapped { return wrapped.listOfValues.map { "\($0)?" } }
    // Inferred types name their module.
    guard let element = self.as(ArrayTypeSyntax.self)?.element.trimmedDescription.replacing("Swift.", with: "") else {
      return nil
    }
    return ["Bool", "Date", "Double", "Float", "Int", "Int64", "String", "URL", "UUID"].contains(element)
      ? "[\(element)]" : nil
  }

  /// The type as it can stand in any place: `T?` for an implicitly unwrapped `T!`.
  fileprivate var plain: TypeSyntax {
    self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self).map { "\($0.wrappedType.trimmed)?" } ?? self
  }
}
