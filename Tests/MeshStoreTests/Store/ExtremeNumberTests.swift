import MeshTesting
import Testing

@testable import MeshCore
@testable import MeshStore

/// Change sets whose numbers are whatever a member likes, signed as they should be.
///
/// Nothing here knows the fields: at each place of an encoding each number is put that a field could have there. What still decodes is
/// merged, and then the file is written to as if nothing had happened. So a field that is added is included.
@Suite struct ExtremeNumberTests {
  private static let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"
  private static let time = HybridTime(milliseconds: 1_800_000_000_000)

  /// Around the bounds of each type, of the limits, and of what an honest writer says.
  static let extremes: [UInt64] = {
    let bounds: [UInt64] = [
      0, 1 << 31, 1 << 32, 1 << 48, 1 << 63, UInt64(Limits.longValue), UInt64(Limits.authors), time.value,
      2 * time.value,
    ]
    let around = bounds.flatMap { [$0 &- 1, $0, $0 &+ 1] } + [.max - 1, .max]
    return Set(around).sorted()
  }()

  /// Each encoding with one number replaced: a varint at any place, or eight bytes at any place.
  static func variants(of bytes: [UInt8]) -> [[UInt8]] {
    var variants: Set<[UInt8]> = []
    for place in bytes.indices {
      let end = bytes[place...].firstIndex { $0 < 0x80 }.map { $0 + 1 }
      for number in extremes {
        var writer = ByteWriter()
        writer.varint(number)
        if let end { variants.insert(Array(bytes[..<place]) + writer.bytes + Array(bytes[end...])) }
        guard place + 8 <= bytes.count else { continue }
        writer = ByteWriter()
        writer.uint64(number)
        variants.insert(Array(bytes[..<place]) + writer.bytes + Array(bytes[(place + 8)...]))
      }
    }
    variants.remove(bytes)
    return variants.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// An honest device, another that takes what it writes, and members who each send something else.
  ///
  /// One pair meets several members, each with rows of its own, because opening files takes far longer than merging.
  private final class Scene {
    static let rounds = 20
    let peer: Peer
    let reader: Peer
    private(set) var round = 0

    init() throws {
      peer = try Peer(1, schema: table, track: ["t"])
      reader = try Peer(3, schema: table, track: ["t"])
    }

    var forger: Forger { get throws { try Forger(UInt8(10 + round)) } }
    /// The first key of this round's rows.
    var base: Int64 { Int64(round * 10) }

    private func row(_ key: Int64, _ value: FieldValue, _ author: Author, generation: UInt64 = 1, isLife: Bool = true)
      -> RowChange
    {
      RowChange(
        key: .integer(base + key), generation: generation, isLife: isLife, stamp: Stamp(time: time, author: author),
        fields: generation % 2 == 1 ? [.init(column: 0, value: value)] : [])
    }

    /// A birth with stamps of another author, an edit, a delete, a long value.
    func body(_ author: Author, _ other: Author) -> ChangeSetBody.Content {
      var moved = row(4, .value(.integer(-1)), author)
      moved.fields[0].stamp = Stamp(time: HybridTime(milliseconds: 1_700_000_000_000), author: other)
      let rows = [
        row(2, .value(.text("two")), author), moved, row(1, .value(.real(0.5)), author, isLife: false),
        row(3, .value(.null), author, generation: 2), row(5, .long(ordinal: 0, size: 5, isText: true), author),
      ]
      return .changes([TableChanges(table: "t", columns: ["v"], rows: rows)])
    }

    /// The rows that were there before are as they were told to be, and the file can be written, flushed and merged on.
    func meet(_ changeSets: [ChangeSet], _ variant: [UInt8]) throws {
      try peer.run("INSERT OR REPLACE INTO t VALUES (\(base + 1), 'one'), (\(base + 3), 'three')")
      try peer.flush()
      _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
      try peer.apply()
      try peer.run(
        "UPDATE t SET v = 'mine'; DELETE FROM t WHERE id < \(base + 4); "
          + "INSERT OR REPLACE INTO t VALUES (\(base + 2), 'again')")
      try peer.flush()
      try peer.apply()
      try peer.run("DELETE FROM t; INSERT INTO t VALUES (\(base + 1), 'last')")
      try peer.flush()
      #expect(try peer.rows("SELECT * FROM t") == ["\(base + 1)|\"last\""], "\(variant)")
      // A device that merges both takes what the honest one wrote.
      reader.now = peer.now
      try reader.receive(from: peer)
      try reader.apply()
      #expect(
        try reader.store.log.mergedVector(Peer.zone)[peer.author]
          == peer.store.log.mergedVector(Peer.zone)[peer.author],
        "\(variant)")
      round += 1
    }
  }

  /// Tries every variant of what a member of each round has to say.
  ///
  /// - Parameters:
  ///   - encoding: What is varied.
  ///   - say: The change sets that say the variant; nil if it doesn't decode or says nothing about the member's own log.
  private func tryAll(
    _ encoding: (Scene) throws -> [UInt8], saying say: (Scene, [UInt8]) throws -> [ChangeSet]?
  ) throws -> Int {
    var tried = 0
    var index = 0
    var scene = try Scene()
    var ofRound: [Int: [[UInt8]]] = [:]
    while true {
      let variants = try ofRound[scene.round] ?? TestSeeds.few(of: Self.variants(of: encoding(scene)))
      ofRound[scene.round] = variants
      guard index < variants.count else { return tried }
      let variant = variants[index]
      index += 1
      guard let changeSets = try say(scene, variant) else { continue }
      tried += 1
      try scene.meet(changeSets, variant)
      if scene.round == Scene.rounds { scene = try Scene() }
    }
  }

  private static let other = Result { try Forger(9).author }

  @Test("no number in a body keeps an honest device from writing, nor others from taking what it writes")
  func everyNumberOfABody() throws {
    let other = try Self.other.get()
    let context = CausalContext([other: .init(number: 1, time: Self.time)])
    let pieces: ChangeSetBody.Content = .piece(LongValuePiece(ordinal: 0, offset: 0, bytes: Array("piece".utf8)))
    let encodings: [(place: Int, (Scene) throws -> ChangeSetBody)] = [
      (1, { ChangeSetBody(context: CausalContext(), content: $0.body(try $0.forger.author, other)) }),
      (0, { _ in ChangeSetBody(context: CausalContext(), content: pieces) }),
      (1, { _ in ChangeSetBody(context: context, content: .changes([])) }),
    ]
    var tried = 0
    for (place, body) in encodings {
      tried += try tryAll {
        try body($0).encoded(author: $0.forger.author)
      } saying: { scene, variant in
        var forger = try scene.forger
        guard (try? ChangeSetBody(variant, author: forger.author)) != nil else { return nil }
        var changeSets: [ChangeSet] = []
        for index in 0...1 {
          let part = ChangeSetHeader.Part(index: UInt64(index), planned: 2, isFinal: index == 1)
          let content = index == 0 ? pieces : scene.body(forger.author, other)
          let time = HybridTime(Self.time.value + UInt64(index))
          changeSets.append(
            try forger.make(content, time: time, part: part, altering: { index == place ? variant : $0 }))
        }
        return changeSets
      }
    }
    #expect(tried > 1_000 / (TestSeeds.step * TestSeeds.step))
  }

  @Test("no number in a header keeps an honest device from writing, nor others from taking what it writes")
  func everyNumberOfAHeader() throws {
    let other = try Self.other.get()
    func plain(_ scene: Scene) throws -> ChangeSetHeader {
      var forger = try scene.forger
      return try forger.make(.changes([]), time: Self.time).header
    }
    let tried = try tryAll { scene in
      var writer = ByteWriter()
      try plain(scene).write(to: &writer, bodySize: 100)
      return writer.bytes
    } saying: { scene, variant in
      var (reader, size) = (ByteReader(variant), 0)
      let (forger, honest) = (try scene.forger, try plain(scene))
      guard let header = try? ChangeSetHeader(from: &reader, bodySize: &size), (try? reader.end()) != nil,
        header.zone == Peer.zone, header.epoch == Peer.epoch, header.author.device == forger.author.device,
        header != honest
      else { return nil }
      let body = ChangeSetBody(context: CausalContext(), content: scene.body(header.author, other))
      return [
        try ChangeSet(
          header, body: body.encoded(author: header.author), key: Peer.key, secrets: forger.keys,
          with: forger.cryptography)
      ]
    }
    #expect(tried > 50 / (TestSeeds.step * TestSeeds.step))
  }

  @Test("a causal past never has more authors than a zone can have, and the file can be read")
  func aCausalPastOfTooManyAuthors() throws {
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    var forger = try Forger(2)
    var numbers: [Author: UInt64] = [:]
    var changeSets: [ChangeSet] = []
    for round in 0..<3 {
      var context = CausalContext()
      for index in 0..<3_000 {
        let author = Author(device: try Forger(9).author.device, instance: InstanceID(UInt64(round * 3_000 + index)))
        context[author] = .init(number: 1, time: Self.time)
        numbers[author] = 0
      }
      changeSets.append(
        try forger.make(.changes([]), time: HybridTime(Self.time.value + UInt64(round)), context: context))
    }
    // Of a device that was cut nothing is waited for.
    peer.cuts = numbers
    _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
    try peer.apply()
    #expect(try peer.store.log.mergedVector(Peer.zone)[forger.author] == 2)
    try peer.reopen()
    try peer.run("INSERT INTO t VALUES (1, 'one')")
    try peer.flush()
    #expect(try peer.rows("SELECT v FROM t") == ["\"one\""])
  }

  @Test("the parts of a unit are decrypted once for the long values of all")
  func longValuesInManyParts() throws {
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    var forger = try Forger(2)
    var changeSets: [ChangeSet] = []
    let parts = 400
    for index in 0..<parts {
      let isPiece = index % 2 == 0
      let ordinal = UInt64(index / 2)
      let content: ChangeSetBody.Content =
        isPiece
        ? .piece(LongValuePiece(ordinal: ordinal, offset: 0, bytes: [UInt8](repeating: 0x61, count: 2_000)))
        : forger.births([index], .long(ordinal: ordinal, size: 2_000, isText: true), time: Self.time)
      changeSets.append(
        try forger.make(
          content, time: HybridTime(Self.time.value + UInt64(index)),
          part: .init(index: UInt64(index), planned: UInt64(parts), isFinal: index == parts - 1)))
    }
    _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
    let counting = CountingCryptography(base: peer.cryptography)
    let reader = ChangeSetReader(keys: [Peer.epoch: Peer.key], cuts: [:], cryptography: counting)
    while case .merged = try peer.store.merges.apply(Peer.zone, reader, now: peer.now) {}
    #expect(try peer.rows("SELECT count(*), min(length(v)) FROM t") == ["\(parts / 2)|2000"])
    // Once to be merged, once to look for pieces, and the pieces once more for their bytes.
    #expect(counting.decryptions <= 3 * parts)
  }
}
