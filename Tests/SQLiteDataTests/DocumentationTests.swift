import Foundation
import Testing

@Suite("Articles and README")
struct DocumentationTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test("all code in the articles is compiled in the samples", arguments: try articles())
  func codeIsCompiled(article: String) throws {
    let compiled = try [
      "DocumentationSamples", "GRDBSample", "Sync/SyncSamples", "Sync/SharingSamples", "Sync/ConflictPolicyTests",
      "Sync/AssetSamples",
    ].map { Self.normalized(try Self.text(of: "Tests/SQLiteDataTests/\($0).swift")) }
    for block in try Self.code(in: article) {
      #expect(compiled.contains { $0.contains(Self.normalized(block)) }, "\(article): not among the samples:\n\(block)")
    }
  }

  @Test("every article is linked from the landing page")
  func articlesAreLinked() throws {
    let landing = try Self.text(of: "\(Self.catalog)/SQLiteData.md")
    let articles = try Self.articles().filter { $0.hasPrefix(Self.catalog) && !$0.hasSuffix("/SQLiteData.md") }
    #expect(!articles.isEmpty)
    for article in articles {
      let name = article.dropFirst(Self.catalog.count + 1).dropLast(3)
      #expect(landing.contains("- <doc:\(name)>"), "SQLiteData.md doesn't list \(name)")
    }
  }

  @Test("links to articles and symbols lead somewhere", arguments: try articles().filter { $0.hasPrefix(catalog) })
  func linksResolve(article: String) throws {
    let text = try Self.text(of: article)
    for match in text.matches(of: /<doc:([^>]+)>/) {
      let file = Self.package.appending(path: "\(Self.catalog)/\(match.output.1).md").path
      #expect(FileManager.default.fileExists(atPath: file), "\(article): there is no article \(match.output.1)")
    }
    // Symbols of other modules, which DocC doesn't link, have single backquotes.
    let sources = try Self.sources()
    for match in text.matches(of: /``([^`\s]+)``/) {
      for part in match.output.1.split(separator: "/") where part != "SQLiteData" {
        let name = part.prefix { $0 != "(" }
        let declaration = try Regex("\\b(struct|class|enum|protocol|func|var|let|case|macro|typealias) \(name)\\b")
        #expect(sources.contains(declaration), "\(article): there is no symbol \(match.output.1)")
      }
    }
  }

  @Test("code, links and symbols are found in the articles")
  func articlesAreRead() throws {
    let articles = try Self.articles()
    #expect(try articles.contains { try !Self.code(in: $0).isEmpty })
    for pattern in [/<doc:([^>]+)>/, /``([^`\s]+)``/] {
      #expect(try articles.contains { try Self.text(of: $0).contains(pattern) })
    }
  }

  private static let catalog = "Sources/SQLiteData/SQLiteData.docc"

  private static func text(of file: String) throws -> String {
    try String(contentsOf: package.appending(path: file), encoding: .utf8)
  }

  /// Returns the sources of the module that the articles document.
  private static func sources() throws -> String {
    let folder = package.appending(path: "Sources/SQLiteData")
    let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
    return try files.filter { $0.hasSuffix(".swift") }.map { try text(of: "Sources/SQLiteData/\($0)") }.joined()
  }

  static func articles() throws -> [String] {
    try ["README.md"]
      + FileManager.default.contentsOfDirectory(atPath: package.appending(path: catalog).path)
      .filter { $0.hasSuffix(".md") }.sorted().map { "\(catalog)/\($0)" }
  }

  /// Returns the blocks of Swift code in an article.
  private static func code(in article: String) throws -> [String] {
    let text = try text(of: article)
    var blocks: [String] = []
    var block: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == "```swift" {
        block = []
      } else if line == "```" {
        if let lines = block { blocks.append(lines.joined(separator: "\n")) }
        block = nil
      } else {
        block?.append(line)
      }
    }
    return blocks
  }

  /// Returns the lines without surrounding white space, so that samples may be indented.
  private static func normalized(_ code: String) -> String {
    code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
      .joined(separator: "\n")
  }
}
