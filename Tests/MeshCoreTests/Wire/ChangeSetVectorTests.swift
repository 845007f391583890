import MeshCrypto
import Testing

@testable import MeshCore

@Suite struct ChangeSetVectorTests {
  private let world: World
  private let file: VectorFile

  init() throws {
    world = try World()
    file = try VectorFile("changesets")
  }

  private var header: ChangeSetHeader {
    get throws {
      let previous = try #require(ChangeSetID(fill(0x81)))
      let epoch = try #require(EpochID(fill(0x91)))
      return ChangeSetHeader(
        zone: world.zone, author: world.desk.author, number: 2, previous: previous, time: World.time(0, 7),
        epoch: epoch, part: .init(index: 0, planned: 3, isFinal: false))
    }
  }

  private var body: ChangeSetBody {
    let (own, other) = (world.desk.author, world.lap.author)
    let first = Stamp(time: World.time(0, 1), author: own)
    let lists = TableChanges(
      table: "lists", columns: ["title", "position"],
      rows: [
        RowChange(
          key: .text("a"), generation: 1, isLife: true, stamp: first,
          fields: [
            .init(column: 0, value: .value(.text("Milk"))), .init(column: 1, value: .value(.integer(1))),
          ]),
        RowChange(
          key: .text("b"), generation: 1, isLife: true, stamp: first,
          fields: [.init(column: 0, value: .value(.text(""))), .init(column: 1, value: .value(.null))]),
        RowChange(
          key: .integer(-3), generation: 1, isLife: true, stamp: Stamp(time: World.time(0, 2), author: own),
          fields: [
            .init(column: 0, value: .long(ordinal: 0, size: 2_000_000, isText: true)),
            .init(
              column: 1, stamp: Stamp(time: World.time(-5_000), author: other), value: .value(.real(-0.0 as Double))),
          ]),
      ])
    let items = TableChanges(
      table: "Items é", columns: ["x", "y", "z"],
      rows: [
        RowChange(
          key: .blob([0, 0xff]), generation: 3, isLife: false, stamp: first,
          fields: [.init(column: 0, value: .value(.blob([]))), .init(column: 2, value: .value(.null))]),
        RowChange(key: .text("c"), generation: 2, isLife: true, stamp: first, fields: []),
      ])
    let context = CausalContext([other: .init(number: 300, time: World.time(-1_000))])
    return ChangeSetBody(context: context, content: .changes([lists, items]))
  }

  @Test("a change set header decodes from its vector and encodes to it") func aHeaderIsReadAndWritten() throws {
    let bytes = try file.bytes("header")
    var reader = ByteReader(bytes)
    var size = 0
    #expect(try ChangeSetHeader(from: &reader, bodySize: &size) == header)
    #expect(size == 40 && reader.isAtEnd)
    var writer = ByteWriter()
    try header.write(to: &writer, bodySize: 40)
    #expect(writer.bytes == bytes)
  }

  @Test("a body of two tables decodes from its vector and encodes to it")
  func aBodyOfTwoTablesIsReadAndWritten() throws {
    let bytes = try file.bytes("body")
    #expect(try ChangeSetBody(bytes, author: world.desk.author) == body)
    #expect(body.encoded(author: world.desk.author) == bytes)
  }

  @Test("the key, manifest and id of an asset equal the vectors") func anAssetIsWhatItsBytesAndTheZoneSay() throws {
    let content = (0..<300_000).map { UInt8($0 % 251) }
    let key = AssetManifest.key(of: world.zone, world.cryptography)
    #expect(key == (try file.bytes("asset key")))
    var builder = AssetManifest.Builder(key: key, world.cryptography)
    builder.add((0..<2).map { Array(content[Asset.range(ofChunk: $0, size: content.count)]) })
    let manifest = try #require(builder.manifest)
    #expect(manifest.encoded == (try file.bytes("manifest")))
    #expect(try manifest.asset(world.cryptography).id.bytes == (try file.bytes("asset id")))
    let photo = RowChange(
      key: .text("a"), generation: 1, isLife: true, stamp: Stamp(time: World.time(0, 1), author: world.desk.author),
      fields: [.init(column: 0, value: .asset(manifest))])
    let body = ChangeSetBody(
      context: CausalContext(), content: .changes([TableChanges(table: "photos", columns: ["image"], rows: [photo])]))
    let bytes = try file.bytes("body with an asset")
    #expect(try ChangeSetBody(bytes, author: world.desk.author) == body)
    #expect(body.encoded(author: world.desk.author) == bytes)
  }

  @Test("a piece of a long value decodes from its vector and encodes to it") func aPieceIsReadAndWritten() throws {
    let bytes = try file.bytes("piece")
    let piece = ChangeSetBody(
      context: CausalContext(),
      content: .piece(LongValuePiece(ordinal: 4, offset: 524_288, bytes: Array("last bytes".utf8))))
    #expect(try ChangeSetBody(bytes, author: world.desk.author) == piece)
    #expect(piece.encoded(author: world.desk.author) == bytes)
  }

  @Test("the body key, nonce key and commitment are derived from the epoch's key")
  func keysOfBodiesAndNoncesAreDerivedFromTheEpochs() throws {
    #expect(world.epochKey.bytes == (try file.bytes("epoch key")))
    #expect(world.epochKey.commitment(world.cryptography) == (try file.bytes("commitment")))
    #expect(world.epochKey.body(world.cryptography) == (try file.bytes("body key")))
    #expect(
      world.cryptography.hash(Array("mesh/1/nonce".utf8), count: 32, key: world.epochKey.bytes)
        == (try file.bytes("nonce key")))
  }

  @Test("a change set is built, decoded and decrypted as its vector says")
  func aWholeChangeSetIsMadeReadAndDecrypted() throws {
    let bytes = try file.bytes("change set")
    let made = try ChangeSet(
      header, body: body.encoded(author: world.desk.author), key: world.epochKey, secrets: world.desk.keys,
      with: world.cryptography)
    #expect(made.bytes == bytes)
    let read = try ChangeSet(bytes, with: world.cryptography)
    #expect(read == made)
    #expect(read.id.bytes == (try file.bytes("id")))
    #expect(read.isSigned(with: world.cryptography))
    let decrypted = try #require(read.body(key: world.epochKey, with: world.cryptography))
    #expect(try ChangeSetBody(decrypted, author: world.desk.author) == body)
  }

  @Test("a change set with an altered byte fails the signature check")
  func anyAlteredByteOfAChangeSetIsNoticed() throws {
    let bytes = try file.bytes("change set")
    for index in bytes.indices {
      var altered = bytes
      altered[index] ^= 0x04
      guard let changeSet = try? ChangeSet(altered, with: world.cryptography) else { continue }
      #expect(!changeSet.isSigned(with: world.cryptography), "byte \(index)")
      // The signature is not covered by the cipher; everything else is.
      if index < bytes.count - ChangeSet.signatureSize {
        #expect(changeSet.body(key: world.epochKey, with: world.cryptography) == nil, "byte \(index)")
      }
    }
  }

  @Test("a change set that is truncated or too long is rejected")
  func aChangeSetThatIsCutShortOrTooLongIsRefused() throws {
    let bytes = try file.bytes("change set")
    for count in bytes.indices {
      #expect(throws: FormatError.self) { try ChangeSet(Array(bytes[..<count]), with: world.cryptography) }
    }
    #expect(throws: FormatError.trailing) { try ChangeSet(bytes + [0], with: world.cryptography) }
    #expect(throws: FormatError.limit("change set")) {
      try ChangeSet(bytes + fill(0, Limits.changeSet), with: world.cryptography)
    }
  }
}
