import SwiftDiagnostics
import SwiftSyntax

extension RecordReader {
  /// Checks whether the members and the extension that the macro makes can stand where the type stands.
  mutating func checkPlace(of declaration: some DeclGroupSyntax, name: TokenSyntax) -> Bool {
    let count = diagnostics.count
    if surroundings.contains(where: { !$0.isProtocol((any DeclGroupSyntax).self) }) {
      report(
        "local",
        "\(macro) can't be applied to '\(name.text)' inside of a function, because Swift can't extend a type there; "
          + "move the type out of the function",
        at: name)
    } else if let outer = surroundings.first(where: \.isGeneric) {
      report(
        "genericPlace",
        "\(macro) can't be applied to '\(name.text)' inside of generic type '\(outer.declaredName)', because a table has "
          + "fixed columns; move the type out of '\(outer.declaredName)'",
        at: name)
    }
    checkAccess(of: declaration, name: name)
    return diagnostics.count == count
  }

  /// Checks that the type isn't called like one of the types that the macro nests into it.
  mutating func checkName(_ name: TokenSyntax, isKeyed: Bool) {
    guard ["Columns", "Selection", "TableColumns"].contains(name.text) || (name.text == "Draft" && isKeyed) else {
      return
    }
    report(
      "typeName",
      "\(macro) makes a nested type '\(name.text)', so the type itself needs another name"
        + (macro == "@Table" ? "; write '@Table(\"\(name.text.tableName)\")' to keep the table's name" : ""),
      at: name)
  }

  /// The conformance stands in an extension at the top of the file, which sees no private member of a type.
  private mutating func checkAccess(of declaration: some DeclGroupSyntax, name: TokenSyntax) {
    guard let outermost = surroundings.last else { return }
    let why = "because the conformance that \(macro) adds stands outside of '\(outermost.declaredName)'; make"
    if let modifier = declaration.modifiers.first(where: \.isPrivate) {
      let wider = modifier.with(
        \.name,
        .keyword(
          .fileprivate, leadingTrivia: modifier.name.leadingTrivia, trailingTrivia: modifier.name.trailingTrivia))
      report(
        "private", "'\(name.text)' can't be private, \(why) it 'fileprivate'", at: modifier,
        fixIts: [.replace("Replace 'private' with 'fileprivate'", modifier, with: wider)])
    }
    for outer in surroundings.dropLast()
    where outer.asProtocol((any WithModifiersSyntax).self)?.modifiers.contains(where: \.isPrivate) == true {
      report(
        "privatePlace",
        "'\(name.text)' can't be inside of private type '\(outer.declaredName)', \(why) '\(outer.declaredName)' "
          + "'fileprivate'",
        at: name)
    }
  }
}

extension DeclModifierSyntax {
  fileprivate var isPrivate: Bool { name.tokenKind == .keyword(.private) && detail == nil }
}

extension Syntax {
  fileprivate var isGeneric: Bool {
    asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil
  }

  /// The name of the type that this declares or extends.
  var declaredName: String {
    asProtocol((any NamedDeclSyntax).self)?.name.text
      ?? self.as(ExtensionDeclSyntax.self)?.extendedType.trimmedDescription ?? ""
  }
}
