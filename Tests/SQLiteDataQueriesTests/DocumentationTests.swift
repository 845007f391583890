import Foundation
import Testing

@Suite("documentation of queries")
struct DocumentationTests {
  @Test("every documented call makes the SQL beside it")
  func examples() throws {
    let rendered = Dictionary(documentedExamples.map { ($0.code, $0.sql) }) { first, _ in first }
    var count = 0
    for block in try documentedBlocks() {
      count += 1
      guard let sql = rendered[block.code] else {
        Issue.record("\(block.place): the example isn't in Examples.swift:\n\(block.code)")
        continue
      }
      #expect(matches(sql, pattern: block.sql), "\(block.place)\ndocumented: \(block.sql)\nmade: \(sql)")
    }
    #expect(count > 100)
  }

  /// A documented call with the SQL in comments after it.
  struct Block {
    var place: String
    var code: String
    var sql: String
  }

  private func documentedBlocks() throws -> [Block] {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Sources/SQLiteDataQueries")
    var blocks: [Block] = []
    // Macros and functions are documented with what they expand to, which the tests of the macros check.
    for folder in ["Core", "Expressions", "Representations", "Schema", "Statements", "Tables"] {
      let folder = sources.appendingPathComponent(folder)
      for file in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
        let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
        blocks += self.blocks(of: text, in: file)
      }
    }
    return blocks
  }

  private func blocks(of text: String, in file: String) -> [Block] {
    var blocks: [Block] = []
    var current: (line: Int, code: [String], sql: [String])?
    for (number, line) in text.components(separatedBy: "\n").enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      guard line.hasPrefix("///") else { continue }
      let content = line.dropFirst(line.hasPrefix("/// ") ? 4 : 3)
      if content == "```swift" {
        current = (number + 1, [], [])
      } else if content == "```" {
        if let block = current, !block.sql.isEmpty {
          blocks.append(
            Block(
              place: "\(file):\(block.line)", code: block.code.joined(separator: "\n"),
              sql: block.sql.joined(separator: "\n")))
        }
        current = nil
      } else if content.hasPrefix("// ") {
        current?.sql.append(String(content.dropFirst(3)))
      } else {
        current?.code.append(String(content))
      }
    }
    return blocks
  }

  /// Compares SQL with documented SQL, in which `…` stands for any text.
  ///
  /// A line of the documentation may hold several lines of SQL.
  private func matches(_ sql: String, pattern: String) -> Bool {
    func words(_ text: String) -> String {
      text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
    var rest = words(sql)[...]
    let parts = words(pattern).components(separatedBy: "…").map { $0.trimmingCharacters(in: .whitespaces) }
    for (index, part) in parts.enumerated() where !part.isEmpty {
      let isLast = index == parts.count - 1
      guard let range = rest.range(of: part, options: isLast && index > 0 ? [.backwards, .anchored] : []) else {
        return false
      }
      if index == 0, range.lowerBound != rest.startIndex { return false }
      rest = rest[range.upperBound...]
    }
    return parts.last?.isEmpty == true || rest.isEmpty
  }
}
