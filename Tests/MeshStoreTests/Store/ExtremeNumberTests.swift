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
    return Array(variants)
  }

  private func row(_ key: Int64, _ forger: Forger, _ value: FieldValue, generation: UInt64 = 1, isLife: Bool = true)
    -> RowChange
  {
    let isAlive = generation % 2 == 1
    return RowChange(
      key: .integer(key), generation: generation, isLife: isLife, stamp: Stamp(time: Self.time, author: forger.author),
      fields: isAlive ? [.init(column: 0, value: value)] : [])
  }

  /// A birth with stamps of another author, an edit, a delete, a long value.
  private func body(_ forger: Forger, _ other: Author) -> ChangeSetBody.Content {
    var moved = row(4, forger, .value(.integer(-1)))
    moved.fields[0].stamp = Stamp(time: HybridTime(milliseconds: 1_700_000_000_000), author: other)
    let rows = [
      row(2, forger, .value(.text("two"))), moved, row(1, forger, .value(.real(0.5)), isLife: false),
      row(3, forger, .value(.null), generation: 2), row(5, forger, .long(ordinal: 0, size: 5, isText: true)),
    ]
    return .changes([TableChanges(table: "t", columns: ["v"], rows: rows)])
  }

  /// The rows that were there before are as they were told to be, and the file can be written, flushed and merged on.
  private func expectAtWork(_ peer: Peer, _ variant: [UInt8]) throws {
    try peer.run("UPDATE t SET v = 'mine'; DELETE FROM t WHERE id < 4; INSERT OR REPLACE INTO t VALUES (2, 'again')")
    try peer.flush()
    try peer.apply()
    try peer.run("DELETE FROM t; INSERT INTO t VALUES (1, 'last')")
    try peer.flush()
    #expect(try peer.rows("SELECT * FROM t").contains("1|last"), "\(variant)")
    // A device that merges both takes what the honest one wrote.
    let reader = try Peer(3, schema: Self.table, track: ["t"])
    reader.now = peer.now
    try reader.receive(from: peer)
    try reader.apply()
    #expect(
      try reader.store.mergedVector(Peer.zone)[peer.author] == peer.store.mergedVector(Peer.zone)[peer.author],
      "\(variant)")
  }

  private func expectAtWork(_ changeSets: [ChangeSet], _ variant: [UInt8]) throws {
    let peer = try Peer(1, schema: Self.table, track: ["t"])
    try peer.run("INSERT INTO t VALUES (1, 'one'), (3, 'three')")
    try peer.flush()
    _ = try peer.store.store(changeSets, zone: Peer.zone, now: peer.now)
    try peer.apply()
    try expectAtWork(peer, variant)
  }

  @Test("no number in a body keeps an honest device from writing, nor others from taking what it writes")
  func everyNumberOfABody() throws {
    let other = try Forger(9).author
    var plain = try Forger(2)
    let context = CausalContext([other: .init(number: 1, time: Self.time)])
    let pieces: ChangeSetBody.Content = .piece(LongValuePiece(ordinal: 0, offset: 0, bytes: Array("piece".utf8)))
    let encodings = [
      (ChangeSetBody(context: CausalContext(), content: body(plain, other)).encoded(author: plain.author), 1),
      (ChangeSetBody(context: CausalContext(), content: pieces).encoded(author: plain.author), 0),
      (ChangeSetBody(context: context, content: .changes([])).encoded(author: plain.author), 1),
    ]
    _ = try plain.make(pieces, time: Self.time)
    var tried = 0
    for (encoding, place) in encodings {
      for variant in Self.variants(of: encoding) where (try? ChangeSetBody(variant, author: plain.author)) != nil {
        var forger = try Forger(2)
        var changeSets: [ChangeSet] = []
        for index in 0...1 {
          let part = ChangeSetHeader.Part(index: UInt64(index), planned: 2, isFinal: index == 1)
          let content = index == 0 ? pieces : body(forger, other)
          let time = HybridTime(Self.time.value + UInt64(index))
          changeSets.append(
            try forger.make(content, time: time, part: part, altering: { index == place ? variant : $0 }))
        }
        tried += 1
        try expectAtWork(changeSets, variant)
      }
    }
    #expect(tried > 100)
  }

  @Test("no number in a header keeps an honest device from writing, nor others from taking what it writes")
  func everyNumberOfAHeader() throws {
    var forger = try Forger(2)
    let whole = try forger.make(body(forger, try Forger(9).author), time: Self.time)
    var writer = ByteWriter()
    whole.header.write(to: &writer, bodySize: 100)
    var tried = 0
    for variant in Self.variants(of: writer.bytes) {
      var (reader, size) = (ByteReader(variant), 0)
      guard let header = try? ChangeSetHeader(from: &reader, bodySize: &size), (try? reader.end()) != nil,
        header.zone == Peer.zone, header.epoch == Peer.epoch, header.author.device == forger.author.device,
        header != whole.header
      else { continue }
      let content = ChangeSetBody(context: CausalContext(), content: body(forger, try Forger(9).author))
      let changeSet = try ChangeSet(
        header, body: content.encoded(author: header.author), key: Peer.key, secrets: forger.keys,
        with: forger.cryptography)
      tried += 1
      try expectAtWork([changeSet], variant)
    }
    #expect(tried > 50)
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
    _ = try peer.store.store(changeSets, zone: Peer.zone, now: peer.now)
    try peer.apply()
    #expect(try peer.store.mergedVector(Peer.zone)[forger.author] == 2)
    try peer.reopen()
    try peer.run("INSERT INTO t VALUES (1, 'one')")
    try peer.flush()
    #expect(try peer.rows("SELECT v FROM t") == ["one"])
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
    _ = try peer.store.store(changeSets, zone: Peer.zone, now: peer.now)
    let counting = CountingCryptography(base: peer.cryptography)
    let reader = ChangeSetReader(keys: [Peer.epoch: Peer.key], cuts: [:], cryptography: counting)
    while case .merged = try peer.store.apply(Peer.zone, reader, now: peer.now) {}
    #expect(try peer.rows("SELECT count(*), min(length(v)) FROM t") == ["\(parts / 2)|2000"])
    // Once to be merged, once to look for pieces, and the pieces once more for their bytes.
    #expect(counting.decryptions <= 3 * parts)
  }
}

/// Counts what is decrypted.
private final class CountingCryptography: Cryptography, @unchecked Sendable {
  private let base: any Cryptography
  /// Used by one test, on one thread.
  private(set) var decryptions = 0

  init(base: any Cryptography) { self.base = base }

  func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8] { base.hash(message, count: count, key: key) }
  func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    base.hashes(messages, count: count, key: key)
  }
  func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64) { base.hash128(message) }
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    base.verify(signature, of: message, by: key)
  }
  func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
    base.encrypt(plaintext, key: key, nonce: nonce, associated: associated)
  }
  func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
    decryptions += 1
    return base.decrypt(ciphertext, key: key, nonce: nonce, associated: associated)
  }
  func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]? {
    base.seal(secret, to: recipient, epoch: epoch, context: context)
  }
  func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] { base.sign(message, seed: seed) }
  func publicKey(seed: [UInt8]) -> [UInt8] { base.publicKey(seed: seed) }
}
