import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// The same numbers from the same seed on every machine.
struct Dice {
  var state: UInt64
  mutating func roll(_ sides: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(sides))
  }
}

/// Random histories of three authors, against a model that knows nothing but `RecordState`.
@Suite struct HistoryTests {
  private static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, name TEXT);
    CREATE TABLE item (id INTEGER PRIMARY KEY NOT NULL, a TEXT, b INTEGER DEFAULT 5, c,
      list TEXT REFERENCES list (id) ON DELETE CASCADE, other TEXT REFERENCES list (id) ON DELETE SET NULL);
    """

  private func statement(_ dice: inout Dice) -> String {
    let id = dice.roll(6)
    let list = "l\(dice.roll(3))"
    let reference = dice.roll(3) == 0 ? "NULL" : "'\(list)'"
    switch dice.roll(12) {
    case 0, 1:
      return "INSERT OR IGNORE INTO item VALUES (\(id), 'n\(dice.roll(99))', \(dice.roll(9)), 1.5, \(reference), NULL)"
    case 2: return "REPLACE INTO item (id, a, other) VALUES (\(id), 'r\(dice.roll(99))', \(reference))"
    case 3: return "UPDATE item SET a = 'u\(dice.roll(99))' WHERE id = \(id)"
    case 4: return "UPDATE item SET b = b + 1, c = x'0\(dice.roll(9))' WHERE id <= \(id)"
    case 5: return "DELETE FROM item WHERE id = \(id)"
    case 6: return "UPDATE OR IGNORE item SET id = \(dice.roll(6)) WHERE id = \(id)"
    case 7: return "UPDATE item SET list = \(reference) WHERE id = \(id)"
    case 8: return "UPDATE item SET other = \(reference) WHERE id = \(id)"
    case 9: return "DELETE FROM list WHERE id = '\(list)'"
    default:
      return "INSERT INTO list VALUES ('\(list)', 'x\(dice.roll(99))') ON CONFLICT DO UPDATE SET name = excluded.name"
    }
  }

  @Test("random histories of three peers converge to the model", arguments: TestSeeds.through(40))
  func allReplicasConvergeToTheModel(seed: Int) throws {
    var dice = Dice(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
    let peers = try (1...3).map {
      try Peer(UInt8($0), schema: Self.schema, track: ["list", "item"], foreignKeys: $0 == 1 || seed % 3 == 0)
    }
    for _ in 0..<60 {
      let peer = peers[dice.roll(3)]
      peer.now += Int64(dice.roll(40))
      switch dice.roll(8) {
      case 0...5: try? peer.run(statement(&dice))
      case 6: try peer.flush()
      default: try peer.pull(from: peers[dice.roll(3)])
      }
    }
    try synchronize(peers)
    let digests = try peers.map { try $0.digest() }
    #expect(Set(digests).count == 1)
    for sql in ["SELECT * FROM list ORDER BY id", "SELECT *, typeof(c) FROM item ORDER BY id"] {
      let dangling = try Set(peers.flatMap(dangling)).joined(separator: ", ")
      let shown = try peers.map { try $0.rows(sql.replacing("ORDER", with: "WHERE id NOT IN (\(dangling)) ORDER")) }
      #expect(Set(shown).count == 1, "\(shown)")
    }
    let model = try Model(peers[0])
    #expect(UInt64(model.live) == digests[0].records)
    for peer in peers { try model.check(peer) }
  }

  /// Keys of items that a peer wrote with foreign keys off, and shows though their list is not there.
  private func dangling(_ peer: Peer) throws -> [String] {
    try peer.rows("SELECT quote(key) FROM mesh_held WHERE reason = \(HeldReason.shownHereOnly.rawValue)").map {
      $0.replacing("\"", with: "")
    }
  }

  /// The state that the change sets in a log make, whatever their order.
  private struct Model {
    struct Key: Hashable {
      var table: String
      var key: Value
    }

    var states: [Key: RecordState<String>] = [:]
    var writers: [Key: Set<Author>] = [:]
    var live: Int { states.values.count(where: \.isAlive) }

    init(_ peer: Peer) throws {
      let batch = try peer.store.log.changeSets(
        Peer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 1 << 30)
      for bytes in batch.changeSets.reversed() {
        let changeSet = try ChangeSet(bytes, with: peer.cryptography)
        let plain = changeSet.body(key: Peer.key, with: peer.cryptography).unsafe
        guard case .changes(let tables) = try ChangeSetBody(plain, author: changeSet.header.author).content else {
          continue
        }
        for table in tables { for row in table.rows { add(row, table) } }
      }
    }

    private mutating func add(_ row: RowChange, _ table: TableChanges) {
      var cells: [String: RecordState<String>.Cell] = [:]
      for field in row.fields {
        if case .value(let value) = field.value {
          cells[table.columns[field.column]] = .init(stamp: field.stamp ?? row.stamp, value: value)
        }
      }
      writers[Key(table: table.table, key: row.key), default: []].insert(row.stamp.author)
      states[Key(table: table.table, key: row.key), default: .init()].merge(
        RecordState(generation: row.generation, life: row.isLife ? row.stamp : nil, cells: cells))
    }

    private func wrote(_ author: Author, _ key: Key) -> Bool { writers[key]?.contains(author) ?? false }

    private func lives(_ table: String, _ key: Value) -> Bool { states[Key(table: table, key: key)]?.isAlive ?? false }

    /// An item is shown exactly where its list lives, or where its reference or the list's key was written with foreign keys off. Its
    /// other list is shown where that lives, likewise.
    func check(_ peer: Peer) throws {
      let held = try peer.store.held.list(limit: 999).filter { $0.reason == .shownHereOnly }
      let dangling = Dictionary(
        held.map { (Key(table: $0.table, key: $0.key), $0.waitsFor.map(\.key)) }, uniquingKeysWith: { $1 })
      for (key, parents) in dangling {
        #expect(!parents.isEmpty && !parents.contains { lives("list", $0) })
        #expect(parents.allSatisfy { wrote(peer.author, key) || wrote(peer.author, Key(table: "list", key: $0)) })
      }
      for (key, state) in states where key.table == "item" {
        let shown = try peer.store.access.read { transaction -> [Value]? in
          let table = transaction.catalog.allTables.first { $0.schema.name == "item" }.unsafe
          return try transaction.sql.first("SELECT a, b, c, list, other FROM item WHERE id = ?", [key.key]) { row in
            (0..<5).map { row.value($0) }
          } ?? (table.columns.isEmpty ? [] : nil)
        }
        let list = state.cells["list"]?.value ?? .null
        guard state.isAlive, list == .null || lives("list", list) || dangling[key]?.contains(list) == true else {
          #expect(shown == nil)
          continue
        }
        let other = state.cells["other"]?.value ?? .null
        // A reference that is shown as NULL is noted beside one that dangles.
        let isLeft = dangling[key]?.contains(other) == true
        let others = lives("list", other) ? [other] : isLeft ? [other, .null] : [.null]
        let expected = others.map { other in
          [
            state.cells["a"]?.value ?? .null, state.cells["b"]?.value ?? .integer(5), state.cells["c"]?.value ?? .null,
            list, other,
          ]
        }
        #expect(expected.contains { $0 == shown }, "\(shown.map { "\($0)" } ?? "none") is not \(expected)")
      }
    }
  }

  @Test("every order of delivery gives the same rows and digest") func everyOrderOfDeliveryGivesTheSame() throws {
    let authors = try (1...3).map { try Peer(UInt8($0), schema: Self.schema, track: ["list", "item"]) }
    try authors[0].run("INSERT INTO list VALUES ('l0', 'x'); INSERT INTO item (id, a, list) VALUES (1, 'one', 'l0')")
    for author in authors.dropFirst() { try author.pull(from: authors[0]) }
    try authors[0].run("DELETE FROM list")
    try authors[1].run("UPDATE item SET a = 'edited', other = 'l0'")
    try authors[2].run("REPLACE INTO list VALUES ('l0', 'renamed'); DELETE FROM item")
    for author in authors { try author.flush() }
    try authors[1].pull(from: authors[2])
    try authors[1].run("INSERT INTO item (id, a) VALUES (1, 'reborn')")
    try authors[1].flush()
    var digests: Set<ZoneDigest> = []
    var rows: Set<[String]> = []
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let reader = try Peer(9, schema: Self.schema, track: ["list", "item"])
      for index in order { try reader.pull(from: authors[index]) }
      digests.insert(try reader.digest())
      rows.insert(try reader.rows("SELECT * FROM item") + reader.rows("SELECT * FROM list"))
    }
    #expect(digests.count == 1)
    #expect(rows.count == 1)
  }
}
