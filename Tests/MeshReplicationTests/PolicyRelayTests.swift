import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// Policies of columns reach devices that aren't connected to the one that set them.
@Suite struct PolicyRelayTests {
  private static let item = SchemaDescription(
    name: "item", columns: [.init(name: "id", notNull: true), .init(name: "n", declaredType: "INTEGER")], key: 0)

  /// Connects the nodes in a line, then sets a policy on the first one.
  private func policies(_ devices: [Int], at time: Int64 = 7) throws -> [ColumnPolicy?] {
    let mesh = try TestMesh(devices)
    for node in mesh.nodes { node.store.schemas = [Self.item] }
    for index in mesh.nodes.indices.dropFirst() { try mesh.connect(index - 1, index) }
    try mesh.pump()
    mesh.nodes[0].store.schemas[0].policies = [.init(column: "n", policy: .counter, time: time)]
    try mesh.nodes[0].replica.schemaChanged()
    try mesh.pump()
    return mesh.nodes.map { $0.store.schemas[0].policies.first?.policy }
  }

  @Test("the policy that one device sets goes through others of the account in the same session")
  func relayed() throws {
    #expect(try policies([4]) == [.counter, .counter, .counter, .counter])
  }

  @Test("a policy of the end of time, which nobody could replace, is not taken")
  func endOfTime() throws {
    #expect(try policies([2], at: ColumnPolicySetting.latest) == [.counter, nil])
  }

  @Test("a policy of a column that the described table lacks is not taken")
  func columnsThatLack() throws {
    let mesh = try TestMesh([2])
    for node in mesh.nodes { node.store.schemas = [Self.item] }
    let link = try mesh.admit(1, to: 0)
    let named = NamedPolicies(
      table: "item",
      policies: [.init(column: "lacking", policy: .least, time: 1), .init(column: "n", policy: .least, time: 1)])
    try mesh.give(.columnPolicies([named]), to: 0, link)
    try mesh.give(.schema([Self.item]), to: 0, link)
    let device = try mesh.account.device(1)
    #expect(mesh.nodes[0].store.foreignSchemas[device]?.first?.policies.map(\.column) == ["n"])
  }

  @Test("a table that is no part of the share here is not described by others, whatever they say that it refers to")
  func tablesOutsideTheShare() throws {
    let mesh = try TestMesh([1, 1])
    let key = SchemaDescription.Column(name: "id", notNull: true)
    let root = SchemaDescription(name: "list", columns: [key], key: 0)
    mesh.nodes[0].store.schemas = [root, Self.item]
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let described = ["item", "other"].map { name in
      SchemaDescription(
        name: name, columns: [key, .init(name: "n")], key: 0,
        foreignKeys: [.init(column: 1, parent: "list", onDelete: .cascade, onUpdate: .cascade)])
    }
    try mesh.give(.schema([root] + described), to: 0, link)
    let device = try mesh.accounts[1].device(0)
    #expect(mesh.nodes[0].store.foreignSchemas[device]?.map(\.name).sorted() == ["list", "other"])
  }

  @Test("devices of another account get the policies of a share's owner, and don't pass them on as their own")
  func otherAccounts() throws {
    let (mesh, _) = try share([1, 2])
    try mesh.connect(1, 2)
    try mesh.pump()
    try set(.counter, mesh)
    for node in 1...2 {
      #expect(try known(node, mesh) == [.counter])
      #expect(mesh.nodes[node].store.schemas[0].policies.isEmpty)
    }
    let own = mesh.nodes[1].sent.values.joined().flatMap { message -> [ColumnPolicySetting] in
      if case .columnPolicies(let named) = message { named.flatMap(\.policies) } else { [] }
    }
    #expect(own.isEmpty)
  }

  // MARK: Policies of a share's owner

  /// The owner of a share, and devices of a participant, of which the first one has a session with the owner.
  private func share(_ devices: [Int]) throws -> (TestMesh, session: LinkID) {
    let mesh = try TestMesh(devices)
    let list = SchemaDescription(
      name: "list", columns: [.init(name: "id", notNull: true), .init(name: "n", declaredType: "INTEGER")], key: 0)
    for node in mesh.nodes { node.store.schemas = [list] }
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let (_, session) = try mesh.connect(0, 1)
    try mesh.pump()
    return (mesh, session)
  }

  private func set(_ policy: ColumnPolicy, at time: Int64 = 7, _ mesh: TestMesh) throws {
    mesh.nodes[0].store.schemas[0].policies = [.init(column: "n", policy: policy, time: time)]
    try mesh.nodes[0].replica.schemaChanged()
    try mesh.pump()
  }

  private func known(_ node: Int, _ mesh: TestMesh) throws -> [ColumnPolicy] {
    let owner = mesh.accounts[0].state.id
    return mesh.nodes[node].store.ownerPolicies()[owner, default: []].flatMap(\.policies).map(\.policy)
  }

  @Test("a device that only meets another one of its account learns what a share's owner has set, before or after")
  func ownerPolicies() throws {
    for isSetBefore in [true, false] {
      let (mesh, _) = try share([1, 3])
      if isSetBefore { try set(.counter, mesh) }
      try mesh.connect(1, 2)
      try mesh.connect(2, 3)
      try mesh.pump()
      if !isSetBefore { try set(.counter, mesh) }
      for node in 1...3 { #expect(try known(node, mesh) == [.counter]) }
      try set(.greatest, at: 8, mesh)
      for node in 1...3 {
        #expect(try known(node, mesh) == [.greatest])
        #expect(mesh.nodes[node].store.schemas[0].policies.isEmpty)
      }
    }
  }

  @Test("an owner's policies are taken from own devices alone, of an owner of a share here, and in time")
  func falseOwnerPolicies() throws {
    let (mesh, others) = try share([1, 2, 1])
    let owner = mesh.accounts[0].state.id
    let told = { (account: AccountID, time: Int64) in
      Message.ownerPolicies(account, [.init(table: "list", policies: [.init(column: "n", policy: .least, time: time)])])
    }
    let (_, own) = try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.give(told(mesh.accounts[2].state.id, 7), to: 1, own)
    try mesh.give(told(mesh.accounts[1].state.id, 7), to: 1, own)
    try mesh.give(told(owner, ColumnPolicySetting.latest), to: 1, own)
    try mesh.give(told(owner, 7), to: 1, others)
    #expect(mesh.nodes[1].store.ownerPolicies().values.allSatisfy { $0.allSatisfy(\.policies.isEmpty) })
    #expect(mesh.nodes[1].store.schemas[0].policies.isEmpty)
    try mesh.give(told(owner, 7), to: 1, own)
    #expect(try known(1, mesh) == [.least])
  }
}
