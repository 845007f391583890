import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#sql("SELECT …", as: T.self)`: checks the literal and makes an expression of it.
enum SQLMacro: ExpressionMacro {
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) -> ExprSyntax {
    if let literal = node.arguments.first?.expression.as(StringLiteralExprSyntax.self) {
      for finding in literal.scanned { report(finding, in: literal, to: context) }
    }
    return "SQLiteDataQueries.SQLQueryExpression(\(node.arguments.trimmed))"
  }

  private static func report(
    _ finding: SQLScanner.Finding, in literal: StringLiteralExprSyntax, to context: some MacroExpansionContext
  ) {
    context.diagnose(
      Diagnostic(
        node: Syntax(literal), position: AbsolutePosition(utf8Offset: finding.offset), message: finding.fault.problem,
        fixIts: literal.unquoting(of: finding)))
  }
}

extension SQLScanner.Fault {
  var problem: Problem {
    switch self {
    case .unclosed(let quote):
      Problem(
        "sql.quote",
        "'\(quote)' has no closing '\(quote.closing)' in this SQL; "
          + "close it, or write a quote inside a string twice")
    case .unclosedComment:
      Problem("sql.comment", "'/*' has no closing '*/' in this SQL; everything after it would be a comment")
    case .unclosedParenthesis:
      Problem(
        "sql.parenthesis", "'(' has no closing ')' in this SQL; to open one on purpose, write '\\(raw: \"(\")'",
        severity: .warning)
    case .unopenedParenthesis:
      Problem(
        "sql.parenthesis", "')' has no opening '(' in this SQL; to close one on purpose, write '\\(raw: \")\")'",
        severity: .warning)
    case .bindInQuotes(let quote):
      Problem(
        "sql.bindInQuotes",
        "a value can't be bound between quotes in SQL; "
          + (quote == "'"
            ? "remove the quotes, or write '\\(raw:)' for text that belongs to the string"
            : "write '\\(quote:)' without the quotes for a name, or '\\(raw:)' for text that belongs to it"))
    case .bindInComment:
      Problem(
        "sql.bindInComment",
        "a value can't be bound inside a comment in SQL; move it out, or write '\\(raw:)' for text of the comment")
    case .parameter(let sign):
      Problem(
        "sql.parameter",
        "parameter '\(sign)' has no value in this SQL; interpolate the value, and it is bound: '\\(value)'")
    }
  }
}

extension Character {
  fileprivate var closing: Character { self == "[" ? "]" : self }
}

extension StringLiteralExprSyntax {
  /// A fix-it that removes the quotes around a bound value, if there is nothing else between them.
  fileprivate func unquoting(of finding: SQLScanner.Finding) -> [FixIt] {
    guard case .bindInQuotes(let quote) = finding.fault, quote == "'" else { return [] }
    let parts = Array(segments)
    guard
      let index = parts.firstIndex(where: {
        $0.positionAfterSkippingLeadingTrivia.utf8Offset == finding.offset && $0.is(ExpressionSegmentSyntax.self)
      }),
      index > 0, index + 1 < parts.count,
      case .stringSegment(var before) = parts[index - 1], case .stringSegment(var after) = parts[index + 1],
      before.content.text.hasSuffix("'"), after.content.text.hasPrefix("'")
    else { return [] }
    before.content = .stringSegment(String(before.content.text.dropLast()))
    after.content = .stringSegment(String(after.content.text.dropFirst()))
    var fixed = parts
    fixed[index - 1] = .stringSegment(before)
    fixed[index + 1] = .stringSegment(after)
    let replaced = with(\.segments, StringLiteralSegmentListSyntax(fixed))
    return [.replace("Remove the quotes", self, with: replaced)]
  }
}
