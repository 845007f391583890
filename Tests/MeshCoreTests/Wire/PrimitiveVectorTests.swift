import Foundation
import MeshCore
import Testing

@Suite struct PrimitiveVectorTests {
  @Test(
    "the Python implementation writes the same vectors as those committed",
    arguments: ["primitives", "identifiers", "accounts", "values", "changesets", "control", "session"])
  func anIndependentImplementationWritesTheSameVectors(file: String) throws {
    let script = VectorFile.folder.appendingPathComponent("vectors.py").path
    let committed = try String(
      contentsOf: VectorFile.folder.appendingPathComponent(file + ".txt"), encoding: .utf8)
    #expect(try Python.run([script, file + ".txt"]) == committed)
  }

  @Test("integers decode from their vectors and encode to them") func integersAreReadAndWritten() throws {
    let file = try VectorFile("primitives")
    for name in file.names {
      let words = name.split(separator: " ")
      var reader = ByteReader(try file.bytes(name))
      var writer = ByteWriter()
      switch words[0] {
      case "varint":
        let number = try reader.varint()
        #expect(String(number) == words[1])
        writer.varint(number)
      case "signed" where words[1] != "bytes":
        let number = try reader.signedVarint()
        #expect(String(number) == words[1])
        writer.signedVarint(number)
      case "uint16":
        let number = try reader.uint16()
        #expect(String(number) == words[1])
        writer.uint16(number)
      case "uint32":
        let number = try reader.uint32()
        #expect(String(number) == words[1])
        writer.uint32(number)
      case "uint64":
        let number = try reader.uint64()
        #expect(String(number) == words[1])
        writer.uint64(number)
      default:
        writer.raw(signedBytes(.hello, [0xab, 0xcd]))
        _ = try reader.raw(reader.remaining)
      }
      #expect(writer.bytes == (try file.bytes(name)), "\(name)")
      try reader.end()
    }
  }

  @Test("values decode from their vectors and encode to them") func valuesAreReadAndWritten() throws {
    let file = try VectorFile("values")
    let expected: [String: Value] = [
      "null": .null, "integer zero": .integer(0), "integer minus one": .integer(-1),
      "integer greatest": .integer(.max), "integer least": .integer(.min), "real zero": .real(0.0 as Double),
      "real minus zero": .real(-0.0 as Double), "real one and a half": .real(1.5 as Double),
      "real infinity": .real(Double.infinity), "text empty": .text(""), "text with NUL": .text("a\0b"),
      "text not UTF-8": .text([0xff, 0xfe]), "blob empty": .blob([]), "blob": .blob([0, 1, 2]),
    ]
    for name in file.names where !name.hasPrefix("refused") {
      let bytes = try file.bytes(name)
      var reader = ByteReader(bytes)
      let value = try Value(from: &reader)
      try reader.end()
      #expect(value == expected[name], "\(name)")
      var writer = ByteWriter()
      value.write(to: &writer)
      #expect(writer.bytes == bytes, "\(name)")
    }
    #expect(expected.count == file.names.filter { !$0.hasPrefix("refused") }.count)
  }

  @Test("values that break a rule of the format are rejected") func valuesThatBreakARuleAreRefused() throws {
    let file = try VectorFile("values")
    let refused = file.names.filter { $0.hasPrefix("refused") }
    #expect(refused.count == 6)
    for name in refused {
      var reader = ByteReader(try file.bytes(name))
      #expect(throws: FormatError.self, "\(name)") { try Value(from: &reader) }
    }
  }

  @Test("minus zero differs from zero, an empty BLOB from NULL, and NaN equals NULL")
  func minusZeroIsNotZeroAndAnEmptyBlobIsNotNull() {
    #expect(Value.real(-0.0 as Double) != .real(0.0 as Double))
    #expect(Value.blob([]) != .null)
    #expect(Value.real(Double.nan) == .null)
  }

  @Test("identifiers have the bytes and the displayed texts of their vectors")
  func identifiersHaveTheirDisplayedTexts() throws {
    let file = try VectorFile("identifiers")
    let world = try World()
    #expect(world.account.bytes == (try file.bytes("account")))
    #expect(world.account.description == (try file.vector("account").text))
    #expect(world.desk.id.bytes == (try file.bytes("device")))
    #expect(world.desk.id.description == (try file.vector("device").text))
    #expect(world.zone.bytes == (try file.bytes("zone")))
    #expect(world.zone.description == (try file.vector("zone").text))
    var reader = ByteReader(try file.bytes("author"))
    #expect(try Author(from: &reader) == world.desk.author)
    #expect(world.desk.author.description == (try file.vector("author").text))
  }
}
