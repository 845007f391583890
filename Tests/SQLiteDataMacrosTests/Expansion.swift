import Foundation
import SwiftDiagnostics
@_spi(FixItApplier) import SwiftIDEUtils
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

/// What the macros make of a source: the expanded text, the diagnostics, and the source after all fix-its.
struct Expansion {
  let text: String
  /// `line:column severity: message`, in the order of reporting.
  let problems: [String]
  /// What the first fix-it of each diagnostic replaces, and with what.
  let replacements: [String]
  /// The source with the first fix-it of each diagnostic applied.
  let fixed: String

  init(_ source: String) {
    let file = Parser.parse(source: source)
    let root = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "Module", fullFilePath: "File.swift")])
    text =
      file.expand(
        macroSpecs: Self.macros,
        contextGenerator: {
          BasicMacroExpansionContext(sharingWith: root, lexicalContext: $0.allMacroLexicalContexts())
        },
        indentationWidth: .spaces(2)
      ).description.trimmingCharacters(in: .newlines)
    problems = root.diagnostics.map { diagnostic in
      let place = root.location(for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "File.swift")
      let severity = diagnostic.diagMessage.severity == .error ? "error" : "warning"
      return "\(place.line):\(place.column) \(severity): \(diagnostic.message)"
    }
    replacements = root.diagnostics.flatMap { $0.fixIts.prefix(1).flatMap(\.changes) }.compactMap { change in
      guard case .replace(let old, let new) = change else { return nil }
      return "\(old.trimmedDescription) → \(new.trimmedDescription)"
    }
    let messages = root.diagnostics.flatMap { $0.fixIts.prefix(1).map(\.message.message) }
    fixed =
      messages.isEmpty
      ? source
      : FixItApplier.applyFixes(
        from: root.diagnostics, filterByMessages: messages, to: file, allowDuplicateInsertions: false
      ).description
  }

  private static let macros: [String: MacroSpec] = [
    "sql": MacroSpec(type: SQLMacro.self),
    "bind": MacroSpec(type: BindMacro.self),
    "Column": MacroSpec(type: ColumnMacro.self),
    "Columns": MacroSpec(type: ColumnMacro.self),
    "DatabaseExpression": MacroSpec(type: DatabaseExpressionMacro.self),
    "DatabaseFunction": MacroSpec(type: DatabaseFunctionMacro.self),
    "Ephemeral": MacroSpec(type: EphemeralMacro.self),
    "Selection": MacroSpec(type: SelectionMacro.self, conformances: ["Table", "_CaseTable"]),
    "Table": MacroSpec(type: TableMacro.self, conformances: ["Table", "PrimaryKeyedTable", "_CaseTable"]),
  ]
}
