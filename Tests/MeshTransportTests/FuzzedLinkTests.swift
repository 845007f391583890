import Foundation
import Testing

@testable import MeshTransport

/// A short version of the tests that a fuzzer runs for hours.
struct FuzzedLinkTests {
  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

  @Test("a handshake ends in a session exactly where no bit was changed on the way")
  func aHandshakeEndsInASessionExactlyWhereNoBitWasChangedOnTheWay() throws {
    try FuzzedLink.handshake([])
    try FuzzedLink.handshake([UInt8](repeating: 0, count: 300))
    // The messages have 34, 98 and 66 bytes, including the length before each.
    for bit in 0..<(34 + 98 + 66) * 8 {
      var mask = [UInt8](repeating: 0, count: bit / 8 + 1)
      mask[bit / 8] = 1 << UInt8(bit % 8)
      try FuzzedLink.handshake(mask)
    }
  }

  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fuzzing/Corpus")

  /// Reads inputs as `tools/fuzz --keep` stores them: one on each line, in hexadecimal.
  private func corpus(_ name: String) throws -> [[UInt8]] {
    try String(contentsOf: Self.folder.appendingPathComponent("\(name).txt"), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
        let digits = line.compactMap(\.hexDigitValue)
        try #require(digits.count == line.utf8.count && digits.count.isMultiple(of: 2))
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
      }
  }

  @Test("what takes a fuzzer every way through a link does no harm")
  func whatTakesAFuzzerEveryWayThroughALinkDoesNoHarm() throws {
    for input in try corpus("handshake") { try FuzzedLink.handshake(input) }
    for input in try corpus("handshake-garbage") { try FuzzedLink.garbage(input) }
    for input in try corpus("frames") { try FuzzedLink.frames(input) }
  }

  @Test("a stranger's bytes never make a session") func aStrangersBytesNeverMakeASession() throws {
    try FuzzedLink.garbage([])
    for _ in 0..<200 {
      try FuzzedLink.garbage(bytes(Int.random(in: 0..<300)))
      try FuzzedLink.garbage([0, 32] + bytes(32) + [0, 64] + bytes(64))
      try FuzzedLink.garbage([0, 96] + bytes(96))
    }
  }

  @Test("frames of any content and size give messages within the bound, or end the link")
  func framesOfAnyContentAndSizeGiveMessagesWithinTheBoundOrEndTheLink() throws {
    for input: [UInt8] in [
      [], [0, 3, 1, 7, 7], [0, 1, 1], [0, 0], [0xfe, 0xff], [0xff, 0xee, 0], [0xff, 0, 1, 1, 2, 3], [0xff],
    ] {
      try FuzzedLink.frames(input)
    }
    for _ in 0..<30 { try FuzzedLink.frames(bytes(Int.random(in: 0..<100))) }
  }
}
