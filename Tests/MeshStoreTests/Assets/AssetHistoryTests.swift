import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// What two peers do, at random, to tables with long BLOBs: at the end both show the same.
@Suite struct AssetHistoryTests {
  @Test("two peers that change long BLOBs at random end with the same rows", arguments: TestSeeds.through(20 as UInt64))
  func whateverIsDoneBothEndEqual(seed: UInt64) throws {
    var history = try AssetHistory(seed: seed)
    for _ in 0..<40 { try history.step() }
    try history.end()
  }
}

private struct AssetHistory {
  private static let all = "SELECT id, title, hex(image), hex(more) FROM photo ORDER BY id"
  private let peers: [Peer]
  private let withoutRowid: Bool
  private var generator: SplitMix64
  /// What each calls the table.
  private var names = ["photo", "photo"]
  private var done: [String] = []

  init(seed: UInt64) throws {
    generator = SplitMix64(seed: seed)
    let schema = AssetShapeTests.Shape.allCases.randomElement(using: &generator)?.schema ?? ""
    withoutRowid = schema.contains("WITHOUT ROWID")
    peers = try [1, 2].map { try Peer($0, schema: schema, track: ["photo"]) }
    done.append(schema)
  }

  private mutating func draw(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

  mutating func step() throws {
    let index = draw(0..<2)
    let (peer, other, table, id) = (peers[index], peers[1 - index], names[index], draw(1..<4))
    let blob = "randomblob(\([300, 20_000, Limits.chunk + 5, 3 * Limits.chunk][draw(0..<4)]))"
    let column = ["image", "image", "more"][draw(0..<3)]
    switch draw(0..<26) {
    case 0, 1:
      let new = table == "photo" ? "away" : "photo"
      try run(index, "ALTER TABLE \(table) RENAME TO \(new)")
      names[index] = new
    case 2, 3:
      try run(index, "INSERT OR IGNORE INTO \(table) (id, title, image) VALUES ('\(id)', 'new', \(blob))")
    case 4:
      let source = "SELECT '\(id)', 'copy', image, more FROM \(table) WHERE id = '\(draw(1..<4))'"
      try run(index, "INSERT OR REPLACE INTO \(table) (id, title, image, more) \(source)")
    case 5, 6: try run(index, "UPDATE \(table) SET \(column) = \(blob) WHERE id = '\(id)'")
    case 7: try run(index, "UPDATE \(table) SET title = title || 'x' WHERE id = '\(id)'")
    case 8:
      // Deleted while nobody sees it, the row comes back, and its bytes do not.
      guard table == "photo" else { return }
      try peer.upkeep()
      try run(index, "DELETE FROM \(table) WHERE id = '\(id)'")
    case 9, 10, 11:
      note(index, "upkeep")
      try peer.upkeep()
    case 12, 13:
      note(index, "flush")
      try peer.flush()
    case 14:
      note(index, "apply")
      try peer.apply()
    case 15, 16:
      note(index, "learns")
      try peer.learn(from: other)
    case 17: try evict(index, id, column)
    case 18:
      let policy = [AssetPolicy.always, .onDemand][draw(0..<2)]
      note(index, policy.rawValue)
      try peer.store.assets.setPolicy(policy, table: "photo")
    case 19:
      note(index, "asks for \(id)")
      try request(peer, "\(id)")
    case 20: try poke(index, table, column, id)
    case 21:
      note(index, "compares")
      try peer.store.capture.rescan()
    case 22:
      note(index, "opens again")
      try peer.reopen()
    default:
      note(index, "pulls")
      try peer.pull(from: other)
    }
  }

  private mutating func poke(_ index: Int, _ table: String, _ column: String, _ id: Int) throws {
    guard !withoutRowid else { return }
    let place = "SELECT rowid FROM \(table) WHERE id = '\(id)' AND typeof(\(column)) = 'blob' AND length(\(column)) > 9"
    guard let rowid = try peers[index].rows(place).first.flatMap(Int64.init) else { return }
    note(index, "writes into \(table) \(id).\(column)")
    try peers[index].poke([UInt8(draw(0..<256)), 1], at: draw(0..<8), rowid: rowid, column, of: table)
  }

  /// What the other has as well.
  private mutating func evict(_ index: Int, _ id: Int, _ column: String) throws {
    let peer = peers[index]
    for place in try places(peer, "\(id)") where place.column == column {
      guard try peers[1 - index].store.assets.chunks(of: place.asset.id, zone: Peer.zone)?.isComplete == true else {
        continue
      }
      note(index, "evicts \(id).\(column)")
      do {
        try peer.store.assets.evict(place.asset.id)
      } catch let error as EvictionError {
        note(index, error.description)
      }
    }
  }

  private func request(_ peer: Peer, _ id: String) throws {
    for place in try places(peer, id) where !place.isShown { try peer.store.assets.request(place.asset.id) }
  }

  private func places(_ peer: Peer, _ id: String) throws -> [AssetPlace] {
    try [.text(Array(id.utf8)), .integer(Int64(id) ?? 0)].flatMap {
      try peer.store.assets.places(table: "photo", key: $0, column: nil)
    }
  }

  private mutating func note(_ index: Int, _ text: String) { done.append("\(index): \(text)") }

  private mutating func run(_ index: Int, _ sql: String) throws {
    note(index, sql)
    try peers[index].run(sql)
  }

  mutating func end() throws {
    for index in 0..<2 where names[index] != "photo" { try run(index, "ALTER TABLE away RENAME TO photo") }
    // What was written past all triggers is found.
    for peer in peers { try peer.store.capture.rescan() }
    try synchronize(peers)
    let early = Comment(rawValue: done.joined(separator: "\n"))
    #expect(try peers[0].digest() == peers[1].digest(), early)
    for peer in peers {
      try peer.store.capture.rescan()
      #expect(try peer.flush() == 0, early)
      try peer.store.assets.setPolicy(.always, table: "photo")
      for id in 1..<4 { try request(peer, "\(id)") }
    }
    try synchronize(peers)
    let comment = Comment(rawValue: done.joined(separator: "\n"))
    #expect(try peers[0].rows(Self.all) == peers[1].rows(Self.all), comment)
    #expect(try peers[0].digest() == peers[1].digest(), comment)
    for peer in peers {
      #expect(try peer.store.assets.wantedAssets(limit: 9).isEmpty && peer.stagedForRows().isEmpty, comment)
      #expect(try peer.rows("SELECT * FROM mesh_asset_use WHERE shown = 0").isEmpty, comment)
      try peer.store.capture.rescan()
      #expect(try peer.flush() == 0, comment)
    }
  }
}
