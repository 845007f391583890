import Foundation
import Testing

/// The inputs that take a fuzzer every way through a decoder, as `tools/fuzz --keep` leaves them: one a line, in hexadecimal.
@Suite struct CorpusTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Fuzzing/Corpus")

  private func inputs(_ form: WireForm) throws -> [[UInt8]] {
    let name = form.description.replacingOccurrences(of: " ", with: "-")
    return try String(contentsOf: Self.folder.appendingPathComponent("\(name).txt"), encoding: .utf8)
      .split(separator: "\n").map { line in
        let digits = line.compactMap(\.hexDigitValue)
        try #require(digits.count == line.utf8.count && digits.count.isMultiple(of: 2), "\(name): \(line)")
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
      }
  }

  @Test("each input of the corpus is rejected or has one encoding", arguments: WireForm.all)
  func everyInputIsRefusedOrHasOneEncoding(form: WireForm) throws {
    let inputs = try inputs(form)
    let accepted = try inputs.filter { try form.accepts($0) }
    #expect(!accepted.isEmpty, "nothing of it is a \(form)")
    #expect(accepted.count < inputs.count, "nothing of it is refused")
  }
}
