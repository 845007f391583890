import Foundation
import Testing

/// Holds the messages of commands to one form: `mesh: ` and a text whose first letter is a lower-case one.
@Suite struct MessageTests {
  @Test("a message begins with a lower-case letter")
  func beginnings() throws {
    let modules = [
      "mesh", "MeshControl", "MeshCore", "MeshCrypto", "MeshNode", "MeshReplication", "MeshStore", "MeshTransport",
    ]
    let sources = URL(filePath: #filePath).appending(path: "../../../Sources").standardized
    var count = 0
    for module in modules {
      let folder = sources.appending(path: module)
      for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
        let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        for message in Self.messages(in: text) {
          count += 1
          #expect(!Self.isCapitalized(message), "\(module)/\(path): “\(message)…”")
        }
      }
    }
    #expect(count > 150)
  }

  @Test("a name keeps its capitals")
  func forms() {
    let source = """
      throw Refusal(
        code: "a", message: isKnown ? "The file" : "")
      throw HomeError(.kind, "\\(path) is no file")
      struct Fault: Error {
        var description: String {
          switch self {
          case .first: "An end"
          case .second(let text):
            "BLOBs of \\(text)"
          }
        }
      }
      """
    let messages = Self.messages(in: source)
    #expect(messages.map(Self.isCapitalized) == [true, false, true, false], "\(messages)")
  }

  /// Returns the beginnings of the messages in a file: of refusals and errors, and of descriptions of errors.
  private static func messages(in source: String) -> [String] {
    let place = /(?:\bmessage:|Error\(\s*\.\w+,|ReplicaError\.\w+\(|\bbecause:)\s*(?:[^"\n]*\?\s*)?"([^"]{1,24})/
    let description = /case \.[^:\n"]*(?:\([^)]*\))?:\s*"([^"]{1,24})/
    let isError = source.contains(/(?:enum|struct) \w+: .*\bError\b/)
    return source.matches(of: place).map { String($0.1) }
      + (isError ? source.matches(of: description).map { String($0.1) } : [])
  }

  /// Returns whether a text begins with a word that has a capital only because it is the first one.
  private static func isCapitalized(_ text: String) -> Bool { text.prefixMatch(of: /[A-Z](?:[a-z']+)?(?: |$)/) != nil }
}
