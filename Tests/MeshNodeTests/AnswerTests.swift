import Foundation
import MeshControl
import Testing

@Suite struct AnswerTests {
  /// The file with one line for each answer, in the order of the samples: its type, a space, and its JSON.
  private static let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "answers.txt")

  @Test("the JSON of every answer stays as programs know it, byte for byte")
  func formOfAnswers() throws {
    let lines = try AnswerSamples.answers.map { answer in
      "\(type(of: answer)) \(String(decoding: try ControlJSON.encode(answer), as: UTF8.self))"
    }
    let expected = try String(contentsOf: Self.path, encoding: .utf8).split(separator: "\n").map(String.init)
    #expect(lines.count == expected.count)
    for (line, known) in zip(lines, expected) { #expect(line == known) }
  }

  @Test("an answer is read back as it was written", arguments: AnswerSamples.answers.indices)
  func roundTrip(index: Int) throws {
    func check(_ answer: some Codable & Equatable) throws {
      #expect(try ControlJSON.decode(type(of: answer), from: ControlJSON.encode(answer)) == answer)
    }
    try check(AnswerSamples.answers[index])
  }
}
