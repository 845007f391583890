import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct Plugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [
    BindMacro.self,
    ColumnMacro.self,
    DatabaseExpressionMacro.self,
    DatabaseFunctionMacro.self,
    EphemeralMacro.self,
    SelectionMacro.self,
    SQLMacro.self,
    TableMacro.self,
  ]
}
