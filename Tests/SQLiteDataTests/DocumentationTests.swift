import Foundation
import Testing

@Suite("Articles and README")
struct DocumentationTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test("all code in the articles is compiled in the samples", arguments: try articles())
  func codeIsCompiled(article: String) throws {
    let samples = try String(
      contentsOf: Self.package.appending(path: "Tests/SQLiteDataTests/DocumentationSamples.swift"), encoding: .utf8)
    let grdb = try String(
      contentsOf: Self.package.appending(path: "Tests/SQLiteDataTests/GRDBSample.swift"), encoding: .utf8)
    let compiled = [samples, grdb].map(Self.normalized)
    for block in try Self.code(in: article) {
      #expect(compiled.contains { $0.contains(Self.normalized(block)) }, "\(article): not among the samples:\n\(block)")
    }
  }

  static func articles() throws -> [String] {
    let articles = "Sources/SQLiteData/SQLiteData.docc"
    return try ["README.md"]
      + FileManager.default.contentsOfDirectory(atPath: package.appending(path: articles).path)
      .filter { $0.hasSuffix(".md") }.sorted().map { "\(articles)/\($0)" }
  }

  /// The blocks of Swift code in an article.
  private static func code(in article: String) throws -> [String] {
    let text = try String(
      contentsOf: package.appending(path: article), encoding: .utf8)
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

  /// The lines without the white space around them, so that samples may be indented.
  private static func normalized(_ code: String) -> String {
    code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
      .joined(separator: "\n")
  }
}
