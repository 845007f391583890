import MeshCore
import Testing

@testable import MeshStore

private let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

/// Units that take several transactions to merge, and values that take several change sets to come.
@Suite struct SliceTests {
  private func peer() throws -> Peer { try Peer(1, schema: table, track: ["t"]) }

  @Test("a unit goes on after each restart at the row that it stopped at, inside a part too")
  func aUnitGoesOnAfterEachRestartAtTheRowThatItStoppedAtInsideAPartToo() throws {
    let peer = try peer()
    try peer.apply()
    var forger = try Forger(9)
    let time = HybridTime(milliseconds: peer.now)
    let rows = 2 * Choices.slice + 100
    let parts = [
      try forger.make(
        forger.births(0..<600, .value(.text([65])), time: time), time: time,
        part: .init(index: 0, planned: 2, isFinal: false)),
      try forger.make(
        forger.births(600..<rows, .value(.text([66])), time: time), time: time.next,
        part: .init(index: 1, planned: 2, isFinal: true)),
    ]
    _ = try peer.store.log.store(parts, zone: Peer.zone, now: peer.now)
    for (records, total) in [(Choices.slice, Choices.slice), (Choices.slice, 2 * Choices.slice), (100, rows)] {
      let progress = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now)
      try #require(progress == .merged(records: records, unitEnded: total == rows))
      #expect(try peer.rows("SELECT count(*) FROM t") == ["\(total)"])
      try peer.reopen()
    }
    #expect(try peer.apply() == [:])
    #expect(try peer.store.log.mergedVector(Peer.zone)[forger.author] == 2)
    #expect(try peer.digest().records == UInt64(rows))
    #expect(try peer.store.localWrites.pendingCount() == 0)
  }

  @Test("a transaction merges values in pieces up to the size that one may have")
  func aTransactionMergesValuesInPiecesUpToTheSizeThatOneMayHave() throws {
    let peer = try peer()
    try peer.apply()
    var forger = try Forger(9)
    var time = HybridTime(milliseconds: peer.now - 1_000)
    let (count, size) = (3, StoreLimits.longBytesTogether * 3 / 4)
    var parts: [ChangeSet] = []
    for ordinal in 0..<count {
      for offset in stride(from: 0, to: size, by: Limits.piece) {
        let bytes = [UInt8](repeating: 0x61, count: Limits.piece)
        parts.append(
          try forger.make(
            .piece(LongValuePiece(ordinal: UInt64(ordinal), offset: UInt64(offset), bytes: bytes)), time: time,
            part: .init(index: UInt64(parts.count), planned: 99, isFinal: false)))
        time = time.next
      }
      parts.append(
        try forger.make(
          forger.births([ordinal], .long(ordinal: UInt64(ordinal), size: size, isText: true), time: time), time: time,
          part: .init(index: UInt64(parts.count), planned: 99, isFinal: ordinal == count - 1)))
      time = time.next
    }
    _ = try peer.store.log.store(parts, zone: Peer.zone, now: peer.now)
    for total in [2, 3] {
      let progress = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now)
      #expect(progress == .merged(records: total == 2 ? 2 : 1, unitEnded: total == count))
      #expect(try peer.rows("SELECT count(*) FROM t WHERE length(v) = \(size)") == ["\(total)"])
      try peer.reopen()
    }
  }

  /// The last part refers to a value of 6 bytes.
  private func pieces(_ pieces: [(offset: UInt64, bytes: [UInt8])], _ peer: Peer) throws -> [WaitingReason: Int] {
    var forger = try Forger(9)
    var time = HybridTime(milliseconds: peer.now)
    var parts: [ChangeSet] = []
    for (index, piece) in pieces.enumerated() {
      parts.append(
        try forger.make(
          .piece(LongValuePiece(ordinal: 0, offset: piece.offset, bytes: piece.bytes)), time: time,
          part: .init(index: UInt64(index), planned: 9, isFinal: false)))
      time = time.next
    }
    parts.append(
      try forger.make(
        forger.births([1], .long(ordinal: 0, size: 6, isText: true), time: time), time: time,
        part: .init(index: UInt64(pieces.count), planned: 9, isFinal: true)))
    _ = try peer.store.log.store(parts, zone: Peer.zone, now: peer.now)
    return try peer.apply()
  }

  @Test("pieces that follow each other make a value") func piecesThatFollowEachOtherMakeAValue() throws {
    let peer = try peer()
    #expect(try pieces([(0, Array("abc".utf8)), (3, Array("def".utf8))], peer) == [:])
    #expect(try peer.rows("SELECT count(*) FROM t WHERE v = 'abcdef'") == ["1"])
  }

  @Test(
    "pieces out of order, with gaps, too few or too many make none, and nothing of the unit is kept",
    arguments: [
      [(3, "def"), (0, "abc")], [(0, "abc"), (4, "def")], [(0, "abc"), (2, "def")], [(0, "abc")],
      [(0, "abc"), (3, "def"), (6, "g")], [(0, "abc"), (3, "defg")], [(0, "abc"), (0, "abc")],
    ] as [[(UInt64, String)]])
  func piecesOutOfOrderWithGapsTooFewOrTooManyMakeNoneAndNothingOfTheUnitIsKept(
    wrong: [(UInt64, String)]
  ) throws {
    let peer = try peer()
    let waiting = try pieces(wrong.map { ($0.0, Array($0.1.utf8)) }, peer)
    #expect(waiting[.malformed] != nil && waiting.count == 1)
    #expect(try peer.rows("SELECT id FROM t").isEmpty)
    #expect(try peer.digest().records == 0)
  }
}
