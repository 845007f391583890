import SwiftDiagnostics
import SwiftSyntax

/// The contents of a `@Table` or `@Selection` declaration, without syntax: the input of every expansion.
struct Record {
  var name: String
  var isEnum: Bool
  /// `public `, `package `, `fileprivate ` or nothing.
  var access: String
  var columns: [Column]
  /// The column that is the primary key, if there is one.
  var key: Column?
  /// The table's name in SQL.
  var table = ""
  /// The attached database that holds the table.
  var schema: String?
  /// Whether the type is declared inside of another one.
  var isNested = false

  var writable: [Column] { columns.filter { $0.generation == nil } }
}

/// Reads a declaration into a `Record` and collects what is wrong with it.
struct RecordReader {
  /// The macro as people write it: `@Table` or `@Selection`.
  let macro: String
  /// The declarations around the type, the innermost first.
  let surroundings: [Syntax]
  private(set) var diagnostics: [Diagnostic] = []
  /// The name of the type.
  private(set) var typeName = ""

  init(macro: String, surroundings: [Syntax]) {
    self.macro = macro
    self.surroundings = surroundings
  }

  /// Returns nothing if the declaration or its attribute has an error.
  mutating func read(_ declaration: some DeclGroupSyntax, attribute: AttributeSyntax) -> Record? {
    guard let (name, isEnum) = kind(of: declaration) else { return nil }
    typeName = name.text
    guard checkPlace(of: declaration, name: name) else { return nil }
    if let generics = declaration.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause {
      report(
        "generic",
        "\(macro) can't be applied to generic type '\(name.text)', because a table has fixed columns; "
          + "declare a type for each table",
        at: generics)
    }
    let columns = (isEnum ? cases(of: declaration, named: name.text) : properties(of: declaration))
      .map { $0.replacingSelf(by: name.text) }
    if columns.isEmpty, diagnostics.isEmpty {
      report(
        "empty",
        "\(macro) needs at least one \(isEnum ? "case" : "stored property") in '\(name.text)': each becomes a column",
        at: name)
    }
    let key = isEnum || macro != "@Table" ? nil : key(of: columns, in: name.text)
    checkName(name, isKeyed: key != nil)
    checkNames(of: columns, isKeyed: key != nil)
    let table = attribute.name.flatMap { self.name($0, of: "table") } ?? name.text.unquoted.tableName
    let schema = attribute["schema"].flatMap { $0.isNil ? nil : self.name($0, of: "schema") }
    guard diagnostics.isEmpty else { return nil }
    return Record(
      name: name.text, isEnum: isEnum, access: declaration.modifiers.access, columns: columns, key: key,
      table: table, schema: schema)
  }

  mutating func report(_ id: String, _ message: String, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
    diagnostics.append(Diagnostic(node: Syntax(node), message: Problem(id, message), fixIts: fixIts))
  }

  private mutating func kind(of declaration: some DeclGroupSyntax) -> (name: TokenSyntax, isEnum: Bool)? {
    if let structure = declaration.as(StructDeclSyntax.self) { return (structure.name, false) }
    if let enumeration = declaration.as(EnumDeclSyntax.self) { return (enumeration.name, true) }
    let rule = "\(macro) can only be applied to a struct or an enum, because a row is a value"
    if let type = declaration.as(ClassDeclSyntax.self) {
      report(
        "kind", "\(rule); '\(type.name.text)' is a class", at: type.classKeyword, fixIts: [structure(insteadOf: type)])
    } else if let type = declaration.as(ActorDeclSyntax.self) {
      report("kind", "\(rule); '\(type.name.text)' is an actor", at: type.actorKeyword)
    } else {
      report("kind", rule, at: declaration.introducer)
    }
    return nil
  }

  /// Makes the fix-it that turns a class into a structure. A structure can't be final.
  private func structure(insteadOf type: ClassDeclSyntax) -> FixIt {
    var changes: [FixIt.Change] = []
    var trivia = type.classKeyword.leadingTrivia
    if let final = type.modifiers.first(where: { $0.name.tokenKind == .keyword(.final) }) {
      var rest = type.modifiers.filter { $0.id != final.id }
      // The trivia before 'final' moves to the token after it.
      if type.modifiers.first?.id == final.id {
        if rest.isEmpty { trivia = final.leadingTrivia } else { rest.leadingTrivia = final.leadingTrivia }
      }
      changes.append(.replace(oldNode: Syntax(type.modifiers), newNode: Syntax(rest)))
    }
    let keyword = TokenSyntax.keyword(
      .struct, leadingTrivia: trivia, trailingTrivia: type.classKeyword.trailingTrivia)
    changes.append(.replace(oldNode: Syntax(type.classKeyword), newNode: Syntax(keyword)))
    return FixIt(message: Remedy("Replace 'class' with 'struct'"), changes: changes)
  }

  private mutating func checkNames(of columns: [Column], isKeyed: Bool) {
    for column in columns {
      let name = column.property.unquoted
      guard ["self", "Type", "Protocol"].contains(name) || (name == "primaryKey" && isKeyed) else { continue }
      report(
        "member",
        "'\(name)' can't be the name of a column's property, because it already means something else here; "
          + "rename the property and write '@Column(\"\(column.name)\")'",
        at: column.syntax)
    }
    var seen: Set<String> = []
    for column in columns where !seen.insert(column.name.lowercased()).inserted {
      report(
        "duplicate",
        "column name '\(column.name)' is used twice; SQLite doesn't tell names apart by case, "
          + "so give one of them another name with '@Column(\"…\")'",
        at: column.syntax)
    }
  }

  private mutating func key(of columns: [Column], in type: String) -> Column? {
    let marked = columns.filter { $0.primaryKey == true }
    for column in marked.dropFirst() {
      report(
        "keys",
        "'\(type)' already has primary key '\(marked[0].property)'; for a key of several columns, "
          + "put them into a '@Selection' struct and declare one property of that type",
        at: column.syntax)
    }
    return marked.first ?? columns.first { $0.property.unquoted == "id" && $0.primaryKey == nil }
  }
}
