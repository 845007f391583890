import SwiftDiagnostics
import SwiftSyntax

extension RecordReader {
  /// Reads `@Column` and `@Columns`.
  mutating func read(_ attributes: AttributeListSyntax, into column: inout Column, binding: VariableDeclSyntax?) {
    let names = ["Column", "Columns"]
    let written = attributes.compactMap { $0.as(AttributeSyntax.self) }.filter { names.contains($0.baseName) }
    for attribute in written.dropFirst() {
      report(
        "twice", "'\(column.property)' already has '@\(written[0].baseName)'; write all arguments into one attribute",
        at: attribute)
    }
    if let group = attributes.first("Columns") {
      column.isGroup = true
      column.primaryKey = flag("primaryKey", of: group)
    }
    guard let attribute = attributes.first("Column") else { return }
    if let name = attribute.name {
      column.name = self.name(name, of: "column") ?? column.name
    }
    if let representation = attribute["as"] {
      column.representation = representation.metatype
      if column.representation == nil {
        report(
          "as", "'as:' needs the name of a type, as in '@Column(as: Date.UnixTimeRepresentation.self)'",
          at: representation)
      }
    }
    column.primaryKey = flag("primaryKey", of: attribute)
    column.isLazy = flag("lazyInitializable", of: attribute) ?? false
    if let generated = attribute["generated"] {
      read(generated, into: &column, binding: binding)
    }
  }

  /// The text of a name that has to be known at compile time.
  mutating func name(_ expression: ExprSyntax, of thing: String) -> String? {
    guard let text = expression.literalText else {
      report(
        "name", "the \(thing)'s name has to be a string literal without interpolation, because it becomes part of SQL",
        at: expression)
      return nil
    }
    if text.isEmpty {
      report("name", "the \(thing)'s name is empty; write a name, or leave the argument out", at: expression)
    }
    return text
  }

  private mutating func flag(_ label: String, of attribute: AttributeSyntax) -> Bool? {
    guard let expression = attribute[label] else { return nil }
    guard let flag = expression.literalFlag else {
      report(
        "flag", "'\(label):' has to be 'true' or 'false' literally, because it decides what is generated",
        at: expression)
      return nil
    }
    return flag
  }

  private mutating func read(_ generated: ExprSyntax, into column: inout Column, binding: VariableDeclSyntax?) {
    let kind = generated.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    guard let generation = Column.Generation(rawValue: kind) else {
      report(
        "generated", "'generated:' has to be '.stored' or '.virtual', as the column is declared in SQL", at: generated)
      return
    }
    column.generation = generation
    guard let binding, !column.isConstant else { return }
    let keyword = TokenSyntax.keyword(
      .let, leadingTrivia: binding.bindingSpecifier.leadingTrivia,
      trailingTrivia: binding.bindingSpecifier.trailingTrivia)
    report(
      "generatedVariable",
      "generated column '\(column.property)' has to be a 'let', because only SQLite writes it",
      at: binding.bindingSpecifier,
      fixIts: [.replace("Replace 'var' with 'let'", binding.bindingSpecifier, with: keyword)])
  }
}
