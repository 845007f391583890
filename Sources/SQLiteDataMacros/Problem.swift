import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error or warning of one of the macros: what is wrong with which declaration, and the rule.
struct Problem: DiagnosticMessage, Error {
  let message: String
  let diagnosticID: MessageID
  let severity: DiagnosticSeverity

  init(_ id: String, _ message: String, severity: DiagnosticSeverity = .error) {
    self.message = message
    self.diagnosticID = MessageID(domain: "SQLiteData", id: id)
    self.severity = severity
  }
}

/// The text of a fix-it.
struct Remedy: FixItMessage {
  let message: String
  var fixItID: MessageID { MessageID(domain: "SQLiteData", id: message) }

  init(_ message: String) {
    self.message = message
  }
}

extension FixIt {
  /// Creates a fix-it that replaces one node by another, keeping the trivia that the new node brings.
  static func replace(_ message: String, _ old: some SyntaxProtocol, with new: some SyntaxProtocol) -> FixIt {
    FixIt(message: Remedy(message), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
  }
}

extension MacroExpansionContext {
  /// Reports a problem at a node.
  func report(_ problem: Problem, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
    diagnose(Diagnostic(node: Syntax(node), message: problem, fixIts: fixIts))
  }
}
