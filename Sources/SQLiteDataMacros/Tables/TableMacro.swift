import SwiftSyntax
import SwiftSyntaxMacros

/// `@Table("name", schema: "schema")`: makes a type the row of a table.
enum TableMacro {
  static var formatMode: FormatMode { .disabled }
}

extension TableMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    var reader = RecordReader(macro: "@Table", surroundings: context.lexicalContext)
    var record = reader.read(declaration, attribute: node)
    record?.place(in: context)
    for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
    return record?.members ?? []
  }
}

extension TableMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) -> [ExtensionDeclSyntax] {
    var reader = RecordReader(macro: "@Table", surroundings: context.lexicalContext)
    guard var record = reader.read(declaration, attribute: node) else { return [] }
    record.place(in: context)
    return [record.conformance(of: type)]
  }
}

/// `@Selection`: makes a type the result of a select list, or a group of columns in a table.
enum SelectionMacro {
  static var formatMode: FormatMode { .disabled }
}

extension SelectionMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    // `@Table` makes all that `@Selection` makes.
    guard declaration.attributes.first("Table") == nil else { return [] }
    var reader = RecordReader(macro: "@Selection", surroundings: context.lexicalContext)
    var record = reader.read(declaration, attribute: node)
    record?.place(in: context)
    for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
    return record?.members ?? []
  }
}

extension SelectionMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) -> [ExtensionDeclSyntax] {
    guard declaration.attributes.first("Table") == nil else { return [] }
    var reader = RecordReader(macro: "@Selection", surroundings: context.lexicalContext)
    guard var record = reader.read(declaration, attribute: node) else { return [] }
    record.place(in: context)
    return [record.conformance(of: type)]
  }
}

extension Record {
  /// Takes over what the declarations around the type decide.
  fileprivate mutating func place(in context: some MacroExpansionContext) {
    isNested = !context.lexicalContext.isEmpty
    // The conformance stands outside of them. A member without a modifier would be less private there than its type.
    let isPrivate = context.lexicalContext.contains { declaration in
      declaration.asProtocol((any WithModifiersSyntax).self)?.modifiers.contains {
        $0.name.tokenKind == .keyword(.private) || $0.name.tokenKind == .keyword(.fileprivate)
      } == true
    }
    if isPrivate, access.isEmpty { access = "fileprivate " }
  }

  fileprivate var members: [DeclSyntax] {
    ([tableColumns, selection] + cases + [draftType].compactMap(\.self))
      .map(DeclSyntax.init(source:))
  }

  fileprivate func conformance(of type: some TypeSyntaxProtocol) -> ExtensionDeclSyntax {
    let schema = schema.map { "  \(access)static let schemaName: Swift.String? = \($0.literal)\n" } ?? ""
    let keyMembers = key.map { key in
      """
        \(access)typealias PrimaryKey = TableColumns.PrimaryKey
        \(access)var primaryKey: TableColumns.PrimaryKey.QueryOutput { self.\(key.property) }

      """
    }
    let refinement = isEnum ? ", \(core)._CaseTable" : key == nil ? "" : ", \(core).PrimaryKeyedTable"
    // The name `Columns` is made here, and not with the other types. So the compiler reads the conformance when it looks
    // for the name. In the argument of a property wrapper, it wouldn't look for the conformance elsewhere.
    return ExtensionDeclSyntax(
      header: "\(type.trimmed): \(core).Table\(refinement)",
      members: """
          \(access)typealias Columns = Selection
        \(keyMembers ?? "")  \(access)static let tableName: Swift.String = \(table.literal)
        \(schema)\(requirements)
        """)
  }
}
