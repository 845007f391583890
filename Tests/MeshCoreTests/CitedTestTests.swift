import Foundation
import Testing

/// Holds the documents to the tests that exist.
@Suite struct CitedTestTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  @Test("each test that a document names exists")
  func citations() throws {
    let suites = try Self.suites()
    var count = 0
    for (name, document) in try Self.files(below: "Sources", suffix: ".md") {
      for citation in Self.citations(in: document) {
        count += 1
        let isThere = suites[citation.suite].map { $0.contains { citation.isFound(in: $0) } } ?? false
        #expect(isThere, "\(name): \(citation.suite), \(citation.test)")
      }
    }
    #expect(count > 150)
  }

  @Test("a test is named by its function or its title, after its suite")
  func forms() {
    let document =
      "| a | (s) FirstTests `one`, “two words”; OtherTests.FifthTests `five`; none; ThirdTests; `FourthTests.three`; “four” |"
    #expect(Self.citations(in: document).map(\.test) == ["one", "two words", "five", "three"])
    let source = "@Test(\"two words\")\nfunc one() {}\n@Test func `three`() {}"
    #expect(["one", "two words", "three"].allSatisfy { Citation(suite: "", test: $0).isFound(in: source) })
    #expect(!Citation(suite: "", test: "two").isFound(in: source))
  }

  private struct Citation {
    let suite: String
    let test: String

    func isFound(in source: String) -> Bool {
      ["func \(test)(", "func `\(test)`(", "\"\(test)\""].contains { source.contains($0) }
    }
  }

  private static func citations(in document: String) -> [Citation] {
    let list = /\b((?:[A-Z]\w*Tests\.)?[A-Z]\w*Tests) ((?:`\w+`|“[^”]+”)(?:, (?:`\w+`|“[^”]+”))*)/
    let lists = document.matches(of: list).flatMap { list in
      list.2.matches(of: /`(\w+)`|“([^”]+)”/).map { name in
        Citation(suite: String(list.1), test: String(name.1 ?? name.2 ?? ""))
      }
    }
    // A suite may stand behind its target, as in `MeshNodeTests.DiskTests`.
    let members = document.matches(of: /`([A-Z]\w*Tests)\.(?!\w*Tests`)(\w+)`/).map {
      Citation(suite: String($0.1), test: String($0.2))
    }
    return lists + members
  }

  /// Returns the sources of the tests by the suites that they declare or extend, with and without the target. Several
  /// targets have a suite of one name.
  private static func suites() throws -> [String: [String]] {
    try files(below: "Tests", suffix: ".swift").reduce(into: [:]) { suites, file in
      let target = file.name.prefix { $0 != "/" }
      for suite in Set(file.text.matches(of: /(?:struct|class|enum|extension) (\w+Tests)\b/).map(\.1)) {
        for name in ["\(suite)", "\(target).\(suite)"] { suites[name, default: []].append(file.text) }
      }
    }
  }

  private static func files(below folder: String, suffix: String) throws -> [(name: String, text: String)] {
    let folder = root.appending(path: folder)
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(suffix) && !$0.contains(".build/")
    }
    return try paths.sorted().map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
  }
}
