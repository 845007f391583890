import Foundation
import Testing

/// Holds the public and package declarations of a module to docstrings.
@Suite struct DocstringTests {
  /// The least part of the declarations that have a docstring, in percent.
  private static let least = 90

  @Test(
    "public and package declarations have docstrings",
    arguments: ["MeshControl", "MeshCore", "MeshNode"])
  func documented(module: String) throws {
    let folder = URL(filePath: #filePath).appending(path: "../../../Sources/\(module)").standardized
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    let declarations = try paths.sorted().flatMap { path in
      Declaration.all(in: try String(contentsOf: folder.appending(path: path), encoding: .utf8), file: path)
    }
    let missing = declarations.filter { !$0.isDocumented }
    #expect(!declarations.isEmpty)
    #expect(
      missing.count * 100 <= declarations.count * (100 - Self.least),
      "\(missing.count) of \(declarations.count) have none:\n\(missing.map(\.description).joined(separator: "\n"))")
  }

  @Test("cases, properties and requirements count, and witnesses and private declarations don't")
  func counting() {
    let source = """
      /// A kind.
      package enum Kind {
        /// The first.
        case first
        case second
        package var description: String {
          let local = 1
        }
        private var hidden: Int { 0 }
      }
      /// A part.
      public protocol Part {
        /// Its size.
        @discardableResult
        func size() -> Int
        var name: String { get }
      }
      struct Inner { case none }
      extension Kind {
        package static func == (left: Kind, right: Kind) -> Bool {
        }
        package init(from reader: inout ByteReader) {
          switch reader {
          case .end: break
          }
        }
        package mutating func grow(
          by: Int
        ) {}
      }
      """
    let declarations = Declaration.all(in: source, file: "a.swift")
    #expect(declarations.count == 7)
    #expect(
      declarations.filter { !$0.isDocumented }.map(\.description) == [
        "a.swift:5: case second", "a.swift:16: var name: String { get }", "a.swift:27: func grow(",
      ])
  }
}

/// A declaration that other modules can see, in a file as `swift format` leaves it.
private struct Declaration: CustomStringConvertible {
  let file: String
  let line: Int
  let text: String
  let isDocumented: Bool

  var description: String { "\(file):\(line): \(text)" }

  private static let modifiers =
    "public|package|private|fileprivate|internal|static|final|class|indirect|mutating|nonmutating|lazy|weak|unowned"
    + "|nonisolated|isolated|override|required|convenience|consuming|borrowing"
  private static let form =
    #"^( *)(?:@\w+(?:\([^)]*\))? )*((?:(?:\#(modifiers))(?:\(\w+\))? )*)"#
    + #"((func|var|let|init|subscript|struct|class|enum|actor|protocol|typealias|associatedtype|case|extension)\b.*)$"#
  /// Their protocol documents them.
  private static let witness =
    #"^(var (description|debugDescription|errorDescription|hashValue|id|rawValue|allCases|refusal)\b"#
    + #"|let route\b|func (hash|encode|==|<|makeIterator|makeAsyncIterator|next)\b|func (==|<) "#
    + #"|init\(from |init\(rawValue|init\(\w+Literal |init\(argument:)"#

  /// A declaration that encloses those of the next lines.
  private struct Scope {
    let indent: Int
    let keyword: String
    let isVisible: Bool
  }

  /// Returns the declarations of a file that are public or package, without the witnesses of well-known protocols.
  static func all(in source: String, file: String) -> [Declaration] {
    guard let form = try? NSRegularExpression(pattern: form), let witness = try? Regex(witness) else { return [] }
    var (found, scopes): ([Declaration], [Scope]) = ([], [])
    var (isDocumented, isInText) = (false, false)
    for (number, line) in source.components(separatedBy: "\n").enumerated() {
      let words = line.trimmingCharacters(in: .whitespaces)
      let marks = words.components(separatedBy: "\"\"\"").count - 1
      if isInText || marks == 1 {
        isInText = isInText ? marks == 0 : true
        continue
      }
      if words.hasPrefix("///") { isDocumented = true }
      if words.hasPrefix("//") { continue }
      guard let match = form.firstMatch(in: line, range: NSRange(line.startIndex..., in: line)) else {
        // An attribute stands between a docstring and its declaration.
        if !words.hasPrefix("@") { isDocumented = false }
        continue
      }
      let parts = (1...4).map { Range(match.range(at: $0), in: line).map { String(line[$0]) } ?? "" }
      let (indent, modifiers, text, keyword) = (parts[0].utf8.count, parts[1], parts[2], parts[3])
      scopes.removeAll { $0.indent >= indent }
      let isVisible = isVisible(keyword, modifiers, in: scopes.last, indent: indent)
      if isVisible, text.prefixMatch(of: witness) == nil {
        found.append(Declaration(file: file, line: number + 1, text: text, isDocumented: isDocumented))
      }
      scopes.append(Scope(indent: indent, keyword: keyword, isVisible: isVisible))
      isDocumented = false
    }
    return found
  }

  private static func isVisible(_ keyword: String, _ modifiers: String, in scope: Scope?, indent: Int) -> Bool {
    if keyword == "extension" { return false }
    if ["func", "init", "subscript", "var", "let"].contains(scope?.keyword) { return false }
    if modifiers.contains("public ") || modifiers.contains("package ") { return true }
    // Cases and requirements are as visible as their type.
    guard let scope, scope.isVisible, indent == scope.indent + 2 else { return false }
    return scope.keyword == "protocol" || scope.keyword == "enum" && keyword == "case"
  }
}
