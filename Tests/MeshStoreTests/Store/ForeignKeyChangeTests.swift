import MeshCore
import Testing

@testable import MeshStore

/// Foreign keys that come and go: what is shown is what the schema says, whenever it came to say so.
@Suite struct ForeignKeyChangeTests {
  private static let parent = "CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL)"

  private static func child(_ clause: String) -> String {
    "CREATE TABLE c (id TEXT PRIMARY KEY NOT NULL, p TEXT\(clause))"
  }

  private static func rebuild(_ clause: String) -> String {
    """
    ALTER TABLE c RENAME TO old; \(child(clause)); INSERT INTO c SELECT * FROM old; DROP TABLE old
    """
  }

  /// - Parameter first: How the reference is declared on the first peer; the other's has the clause.
  private func peers(_ first: String, _ clause: String) throws -> (Peer, Peer) {
    let a = try Peer(1, schema: "\(Self.parent); \(Self.child(first))", track: ["p", "c"])
    let b = try Peer(2, schema: "\(Self.parent); \(Self.child(clause))", track: ["p", "c"])
    try a.run("INSERT INTO p VALUES ('here'); INSERT INTO c VALUES ('x', 'here'), ('y', 'nowhere'), ('z', NULL)")
    try synchronize([a, b])
    return (a, b)
  }

  private func shown(_ peer: Peer) throws -> [String] { try peer.rows("SELECT id, p FROM c ORDER BY id") }

  @Test(
    "a new foreign key's action applies to existing rows whose parent is missing",
    arguments: [
      " REFERENCES p (id) ON DELETE CASCADE", " REFERENCES p (id) ON DELETE SET NULL",
      " DEFAULT 'here' REFERENCES p (id) ON DELETE SET DEFAULT",
    ])
  func whatRefersToNothingIsTreatedAsTheNewKeySays(clause: String) throws {
    let (a, b) = try peers("", clause)
    #expect(try shown(a) != shown(b))
    try a.run(Self.rebuild(clause))
    try synchronize([a, b])
    #expect(try shown(a) == shown(b))
    #expect(try a.digest() == b.digest() && a.flush() == 0)
    #expect(try a.store.figures.status().held == b.store.figures.status().held)
    // The parent comes, and the foreign key goes: nothing was lost.
    try b.run("INSERT INTO p VALUES ('nowhere')")
    try synchronize([a, b])
    for peer in [a, b] { #expect(try shown(peer)[1] == "\"y\"|\"nowhere\"") }
    // There the delete takes the children along.
    guard !clause.contains("CASCADE") else { return }
    try b.run("DELETE FROM p")
    try synchronize([a, b])
    try a.run(Self.rebuild(clause.contains("DEFAULT '") ? " DEFAULT 'here'" : ""))
    try a.upkeep()
    try a.apply()
    try a.flush()
    #expect(try shown(a) == ["\"x\"|\"here\"", "\"y\"|\"nowhere\"", "\"z\"|NULL"])
    try synchronize([a, b])
    #expect(try a.digest() == b.digest())
  }

  @Test("a parent deleted while its table is missing removes its children when the table returns")
  func aParentThatIsDeletedWhileItsTableIsGoneTakesItsChildrenAlongWhenItReturns() throws {
    let clause = " REFERENCES p (id) ON DELETE CASCADE"
    let (a, b) = try peers(clause, clause)
    try a.run("DROP TABLE p")
    try a.upkeep()
    try b.run("DELETE FROM p")
    try synchronize([a, b])
    try a.run(Self.parent)
    try synchronize([a, b])
    // The machine that wrote it goes on showing what refers to a row that was never here.
    for peer in [a, b] { #expect(try shown(peer).filter { !$0.contains("nowhere") } == ["\"z\"|NULL"]) }
    #expect(try a.digest() == b.digest())
  }
}
