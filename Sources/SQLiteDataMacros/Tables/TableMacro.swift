import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Table("name", schema: "schema")`: makes a type the row of a table.
enum TableMacro {}

extension TableMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    var reader = RecordReader(macro: "@Table")
    let record = reader.read(declaration, attribute: node)
    for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
    return record?.members ?? []
  }
}

extension TableMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    var reader = RecordReader(macro: "@Table")
    guard let record = reader.read(declaration, attribute: node) else { return [] }
    return [try record.conformance(of: type)]
  }
}

/// `@Selection`: makes a type the result of a select list, or a group of columns in a table.
enum SelectionMacro {}

extension SelectionMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    // `@Table` makes all that `@Selection` makes.
    guard declaration.attributes.first("Table") == nil else { return [] }
    var reader = RecordReader(macro: "@Selection")
    let record = reader.read(declaration, attribute: node)
    for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
    return record?.members ?? []
  }
}

extension SelectionMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard declaration.attributes.first("Table") == nil else { return [] }
    var reader = RecordReader(macro: "@Selection")
    guard let record = reader.read(declaration, attribute: node) else { return [] }
    return [try record.conformance(of: type)]
  }
}

extension Record {
  fileprivate var members: [DeclSyntax] {
    ([tableColumns, selection, "\(access)typealias Columns = Selection"] + cases + [draftType].compactMap(\.self))
      .map { "\(raw: $0)" }
  }

  fileprivate func conformance(of type: some TypeSyntaxProtocol) throws -> ExtensionDeclSyntax {
    let schema = schema.map { "  \(access)static let schemaName: Swift.String? = \($0.literal)\n" } ?? ""
    let key = key.map { "  \(access)typealias PrimaryKey = \($0.value)\n" } ?? ""
    return try ExtensionDeclSyntax(
      """
      nonisolated extension \(type.trimmed): \(raw: core).Table\(raw: self.key == nil ? "" : ", \(core).PrimaryKeyedTable") {
      \(raw: key)  \(raw: access)static let tableName: Swift.String = \(raw: table.literal)
      \(raw: schema)\(raw: requirements)
      }
      """)
  }
}
