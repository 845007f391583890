import MeshCore
import MeshTesting
import Testing

/// Bytes that nobody honest would send. A decoder accepts what has exactly that encoding, or throws its typed error.
@Suite struct HostileBytesTests {
  /// A fault is an issue.
  private func isAccepted(_ bytes: [UInt8], _ form: WireForm) -> Bool {
    do {
      return try form.accepts(bytes)
    } catch {
      Issue.record(error)
      return false
    }
  }

  @Test("mutated bytes are rejected or have one encoding", arguments: WireForm.all)
  func mutatedBytesAreRefusedOrHaveOneEncoding(form: WireForm) throws {
    var generator = Generator(seed: 11)
    var accepted = 0
    for _ in TestSeeds.through(200) {
      let original = try form.random(&generator)
      for _ in 0..<50 {
        var bytes = original
        for _ in 0...generator.below(3) { mutate(&bytes, &generator) }
        if isAccepted(bytes, form) { accepted += 1 }
      }
    }
    // Most texts with a checksum are refused; of the others some mutation must have gone through, or nothing was tried.
    if form.isCanonical { #expect(accepted > 0) }
  }

  private func mutate(_ bytes: inout [UInt8], _ generator: inout Generator) {
    guard !bytes.isEmpty else {
      bytes = generator.bytes(1)
      return
    }
    let index = generator.below(bytes.count)
    switch generator.below(6) {
    case 0: bytes[index] ^= 1 << UInt8(generator.below(8))
    case 1: bytes[index] = generator.pick([0, 1, 2, 0x7f, 0x80, 0xff])
    case 2: bytes.remove(at: index)
    case 3: bytes.insert(generator.pick([0, 1, 0x80, 0xff]), at: index)
    case 4: bytes.replaceSubrange(index..., with: generator.bytes(generator.below(20)))
    default: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + generator.below(40))], at: index)
    }
  }

  @Test("no decoder accepts a proper prefix of an encoding", arguments: WireForm.all)
  func noProperPrefixIsAccepted(form: WireForm) throws {
    var generator = Generator(seed: 12)
    for _ in TestSeeds.through(30) {
      let bytes = try form.random(&generator)
      for count in 0..<bytes.count { #expect(throws: (any Error).self) { try form.again(Array(bytes[..<count])) } }
    }
  }

  @Test("decoding random bytes does not crash", arguments: WireForm.all)
  func randomBytesDoNoHarm(form: WireForm) {
    var generator = Generator(seed: 13)
    for _ in TestSeeds.through(5_000) { _ = isAccepted(generator.bytes(generator.below(80)), form) }
  }

  @Test("decoding a huge claimed count does not crash", arguments: WireForm.all)
  func claimedCountsReserveNothing(form: WireForm) {
    // A count of anything up to 2⁶⁴, wherever it lies, followed by next to nothing.
    var generator = Generator(seed: 14)
    for _ in TestSeeds.through(5_000) {
      var writer = ByteWriter()
      writer.raw(generator.bytes(generator.below(3)))
      writer.varint(generator.magnitude())
      writer.raw(generator.bytes(generator.below(3)))
      _ = isAccepted(writer.bytes, form)
    }
  }

  @Test("a list that claims more elements than its bytes hold is truncated")
  func aListReservesNoMoreThanItsBytesCouldHold() throws {
    var writer = ByteWriter()
    writer.varint(100_000)
    writer.raw(fill(0, 16))
    var reader = ByteReader(writer.bytes)
    #expect(throws: FormatError.truncated) {
      try reader.list(100_000, "numbers") { (reader: inout ByteReader) throws(FormatError) in try reader.uint64() }
    }
  }

  @Test("a decoder accepts only the shortest form of a varint") func onlyTheShortestVarintIsAccepted() {
    for bytes: [UInt8] in [
      [0x80, 0], [0xff, 0], [0x81, 0x80, 0], [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
      fill(0xff, 9) + [2], fill(0xff, 10), fill(0x80, 10) + [1], fill(0x80, 40),
    ] {
      var reader = ByteReader(bytes)
      #expect(throws: FormatError.varint, "\(bytes)") { try reader.varint() }
    }
    for bytes: [UInt8] in [[], [0x80], fill(0xff, 9)] {
      var reader = ByteReader(bytes)
      #expect(throws: FormatError.truncated, "\(bytes)") { try reader.varint() }
    }
  }
}
