import SwiftSyntax
import SwiftSyntaxMacros

/// `@DatabaseFunction`: declares `$name`, the function as a value that SQL can call.
enum DatabaseFunctionMacro: PeerMacro {
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) -> [DeclSyntax] {
    var reader = FunctionReader(surroundings: context.lexicalContext)
    let function = reader.read(declaration, attribute: node)
    for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
    guard let function else { return [] }
    let type = context.makeUniqueName(function.property.unquoted).text
    return [
      DeclSyntax(source: function.type(named: type)),
      DeclSyntax(source: function.variable(of: type)),
    ]
  }
}

/// A function or computed property that SQL can call.
struct DatabaseFunctionModel {
  struct Argument {
    /// The label at a call, or nothing.
    var label: String?
    /// The name inside the expansion.
    var name: String
    var type: TypeSyntax
    var representation: TypeSyntax?
    var value: TypeSyntax { representation ?? type }
  }

  /// The Swift name.
  var property: String
  /// The SQL name.
  var name: String
  var access: String
  var isStatic: Bool
  var isDeterministic: Bool
  var isProperty: Bool
  /// Whether the arguments come as a sequence, one element for each row.
  var isAggregate: Bool
  var isThrowing: Bool
  /// The label of an aggregate's sequence.
  var label: String?
  var arguments: [Argument]
  /// The type of the result, or nothing.
  var result: TypeSyntax?
  var resultRepresentation: TypeSyntax?
}

extension DatabaseFunctionModel {
  private var output: String { (resultRepresentation ?? result).map { "\($0)" } ?? "()" }

  private var visible: String { access == "public " || access == "package " ? access : "" }

  /// The arguments as one type.
  private func tuple(labelled: Bool, _ type: (Argument) -> TypeSyntax) -> String {
    if arguments.count == 1 { return "\(type(arguments[0]))" }
    let parts = arguments.map { (labelled ? $0.label.map { "\($0): " } ?? "" : "") + "\(type($0))" }
    return "(\(parts.joined(separator: ", ")))"
  }

  private var bodyType: String {
    let effect = isThrowing ? " throws" : ""
    let result = self.result.map { "\($0)" } ?? "Swift.Void"
    let parameters =
      isAggregate
      ? "any Swift.Sequence<\(tuple(labelled: true, \.type))>" : arguments.map { "\($0.type)" }.joined(separator: ", ")
    return "@Sendable (\(parameters))\(effect) -> \(result)"
  }

  func variable(of type: String) -> String {
    let value =
      isProperty
      ? "{ \(trying)\(property) }" : isAggregate ? "{ \(trying)\(property)(\(labelled("$0"))) }" : property
    return
      "\(access)\(isStatic ? "static " : "")nonisolated var $\(property.unquoted): \(type) { \(type)(body: \(value)) }"
  }

  private func labelled(_ value: String) -> String {
    label.map { "\($0): \(value)" } ?? value
  }

  func type(named type: String) -> String {
    let kind = isAggregate ? "Aggregate" : "Scalar"
    let expression = isProperty ? ", \(core).QueryExpression" : ""
    return """
      \(access)nonisolated struct \(type): \(core).\(kind)DatabaseFunction\(expression) {
        \(visible)typealias Input = \(tuple(labelled: false, \.value))
        \(visible)typealias Output = \(output)
      \(isProperty ? propertyMembers : "")\
        let body: \(bodyType)
        \(visible)var name: Swift.String { \(name.literal) }
        \(visible)var argumentCount: Swift.Int? { \(argumentCount) }
        \(visible)var isDeterministic: Swift.Bool { \(isDeterministic) }
      \(isProperty ? "" : call)\
      \(isAggregate ? aggregation : invocation)
      }
      """
  }

  /// A row or a group of columns is an argument for each column.
  private var argumentCount: String {
    arguments.isEmpty ? "0" : arguments.map { "(\($0.value))._columnWidth" }.joined(separator: " + ")
  }

  private var propertyMembers: String {
    """
      \(visible)typealias QueryValue = \(output)
      \(visible)var queryFragment: \(core).QueryFragment { _call().queryFragment }

    """
  }

  private var call: String {
    let parameters = arguments.map { argument in
      let label = (isAggregate && arguments.count == 1 ? label : argument.label) ?? "_"
      let name = label == argument.name ? label : "\(label) \(argument.name)"
      return "\(name): some \(core).QueryExpression<\(argument.value)>"
    }
    guard isAggregate else { return call(parameters, passing: "") }
    let clauses = [
      "order __order: (some \(core).QueryExpression)? = \(core).OrderingTerm?.none",
      "filter __filter: (some \(core).QueryExpression<Swift.Bool>)? = Swift.Bool?.none",
    ]
    let all = call(parameters + clauses, passing: ", order: __order, filter: __filter")
    // SQLite takes DISTINCT only before a single argument.
    guard arguments.count == 1 else { return all }
    let distinct = "distinct \(arguments[0].name): some \(core).QueryExpression<\(arguments[0].value)>"
    return all + call([distinct] + clauses, passing: ", distinct: true, order: __order, filter: __filter")
  }

  private func call(_ parameters: [String], passing clauses: String) -> String {
    """
      \(visible)func callAsFunction(\(parameters.joined(separator: ", "))) -> \(core).SQLQueryExpression<\(output)> {
        _call(\(arguments.map(\.name).joined(separator: ", "))\(clauses))
      }

    """
  }

  /// Locals that can't clash with the names of the arguments.
  private var locals: [String] { arguments.indices.map { "argument\($0)" } }

  private var reads: String {
    zip(locals, arguments).map { "    let \($0) = try decoder.required(\($1.value).self)\n" }.joined()
  }

  private var trying: String { isThrowing ? "try " : "" }

  private func returning(_ call: String) -> String {
    let call = trying + call
    return result == nil ? "\(call)\n    return .null" : "return \(output)(queryOutput: \(call)).queryBinding"
  }

  private var invocation: String {
    """
      \(visible)func invoke(_ decoder: inout some \(core).QueryDecoder) throws -> \(core).QueryBinding {
    \(reads)\
        \(returning("body(\(locals.joined(separator: ", ")))"))
      }
    """
  }

  private var aggregation: String {
    let element = tuple(labelled: true, \.type)
    let values = zip(locals, arguments).map { local, argument in (argument.label.map { "\($0): " } ?? "") + local }
    let value = arguments.count == 1 ? locals[0] : "(\(values.joined(separator: ", ")))"
    return """
        \(visible)func step(_ decoder: inout some \(core).QueryDecoder) throws -> \(element) {
      \(reads)\
          return \(value)
        }
        \(visible)func invoke(_ rows: some Swift.Sequence<\(element)>) throws -> \(core).QueryBinding {
          \(returning("body(rows)"))
        }
      """
  }
}
