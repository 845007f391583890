import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// The ways on which change sets travel between more than two nodes.
@Suite struct PushTests {
  /// Returns how many times a change set was sent to another node.
  private func copies(_ mesh: TestMesh) -> Int {
    mesh.nodes.flatMap { $0.sent.values.joined() }.reduce(0) {
      if case .changeSets(_, let changeSets) = $1 { $0 + changeSets.count } else { $0 }
    }
  }

  private func wants(_ mesh: TestMesh) -> Int {
    mesh.nodes.flatMap { $0.sent.values.joined() }.count { if case .want = $0 { true } else { false } }
  }

  private func mesh(_ pairs: [(Int, Int)]) throws -> TestMesh {
    let mesh = try TestMesh(1 + (pairs.map { max($0.0, $0.1) }.max() ?? 0))
    for (a, b) in pairs { try mesh.connect(a, b) }
    try mesh.pump()
    try mesh.wait(1_000)
    return mesh
  }

  private static let full = (0..<6).flatMap { a in (0..<a).map { (a, $0) } }

  @Test("connected nodes get each change set from its author, and from nobody else")
  func oneCopyEach() throws {
    let mesh = try mesh(Self.full)
    for round in 0..<5 {
      let (before, asked) = (copies(mesh), wants(mesh))
      for node in mesh.nodes.indices {
        mesh.nodes[node].store.write(
          RecordName(table: "list", key: .text("\(node)")), ["title": .text("round \(round)")])
        mesh.nodes[node].replica.databaseChanged()
      }
      try mesh.pump()
      try mesh.wait(1_000)
      #expect(copies(mesh) - before == 6 * 5)
      #expect(wants(mesh) == asked)
    }
    for node in mesh.nodes.indices {
      for author in mesh.nodes.indices { #expect(mesh.title(node, "\(author)") == .text("round 4")) }
    }
  }

  @Test("a node without a session with an author asks once, and is sent the author's later change sets at once")
  func lineLearns() throws {
    let mesh = try mesh([(1, 0), (2, 1), (3, 2)])
    let asked = wants(mesh)
    try mesh.write(0, "a", "first")
    #expect(mesh.title(3, "a") == .text("first"), "no time has passed")
    #expect(wants(mesh) == asked + 2)
    try mesh.wait(1_000)
    let before = copies(mesh)
    try mesh.write(0, "a", "second")
    #expect(mesh.title(3, "a") == .text("second"))
    #expect(wants(mesh) == asked + 2 && copies(mesh) == before + 3)
  }

  @Test("a node that two others announce a change set to asks one of them")
  func ringAsksOnce() throws {
    let mesh = try mesh([(1, 0), (2, 0), (3, 1), (3, 2)])
    let (before, asked) = (copies(mesh), wants(mesh))
    try mesh.write(0, "a", "first")
    #expect(mesh.title(3, "a") == .text("first"))
    try mesh.wait(1_000)
    #expect(copies(mesh) == before + 3 && wants(mesh) == asked + 1)
  }

  @Test("a change set that its author announces and doesn't push is requested after a while")
  func silentAuthor() throws {
    let mesh = try TestMesh(2)
    let (_, end) = try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(1_000)
    let author = Author(device: mesh.nodes[1].device, instance: InstanceID(1))
    let asked = wants(mesh)
    try mesh.give(.have(mesh.zone, VersionVector([author: 5])), to: 0, end)
    #expect(wants(mesh) == asked)
    try mesh.wait(SessionStateMachine.graftAfter + 1)
    #expect(wants(mesh) == asked + 1)
  }

  @Test("a node whose answer is not wanted any more says what it has")
  func endedAnswer() throws {
    let mesh = try TestMesh(2)
    let (_, end) = try mesh.connect(1, 0)
    try mesh.pump()
    func said() -> Int { mesh.nodes[0].sent[end]?.count { if case .have = $0 { true } else { false } } ?? 0 }
    #expect(said() == 0)
    try mesh.give(.announceOnly(mesh.zone), to: 0, end)
    #expect(said() == 1)
  }

  @Test("a node that gets an author's change sets twice keeps the session with the author")
  func partialMesh() throws {
    // Node 3 knows node 2, and node 2 also connects nodes 0 and 1, which are connected.
    let mesh = try mesh([(1, 0), (2, 0), (2, 1), (3, 2)])
    for round in 0..<4 {
      for (node, key) in [(3, "far"), (0, "near")] {
        try mesh.write(node, key, "\(round)")
        try mesh.wait(1_000)
      }
    }
    let (before, asked) = (copies(mesh), wants(mesh))
    for (node, key) in [(3, "far"), (0, "near")] {
      try mesh.write(node, key, "last")
      for reader in mesh.nodes.indices { #expect(mesh.title(reader, key) == .text("last")) }
      try mesh.wait(1_000)
    }
    #expect(wants(mesh) == asked)
    #expect(copies(mesh) - before == 2 * 3)
  }
}
