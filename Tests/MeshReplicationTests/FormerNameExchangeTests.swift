import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// The former names of tables between replicas.
@Suite struct FormerNameExchangeTests {
  private static let list = SchemaDescription(
    name: "list", columns: [.init(name: "id", notNull: true), .init(name: "b")], key: 0)
  private static let names = FormerNames(tables: ["item"], columns: [.init(name: "b", former: "a")])

  private func heard(_ mesh: TestMesh, by node: Int, from device: DeviceID) -> FormerNames? {
    mesh.nodes[node].store.foreignSchemas[device]?.first?.formerNames
  }

  @Test("a device of the account hears the former names of a table with its description, until there are none")
  func ownDevices() throws {
    let mesh = try TestMesh(2)
    mesh.nodes[0].store.schemas = [Self.list]
    mesh.nodes[0].store.schemas[0].formerNames = Self.names
    try mesh.connect(0, 1)
    try mesh.pump()
    let device = try mesh.account.device(0)
    #expect(heard(mesh, by: 1, from: device) == Self.names)
    mesh.nodes[0].store.schemas = [Self.list]
    try mesh.nodes[0].replica.schemaChanged()
    try mesh.pump()
    #expect(heard(mesh, by: 1, from: device) == FormerNames())
  }

  @Test("a participant hears the former names of a share's table from its owner, who doesn't hear the participant's")
  func otherAccounts() throws {
    let mesh = try TestMesh([1, 1])
    for node in mesh.nodes {
      node.store.schemas = [Self.list]
      node.store.schemas[0].formerNames = Self.names
    }
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let (_, session) = try mesh.connect(0, 1)
    try mesh.pump()
    #expect(heard(mesh, by: 1, from: try mesh.accounts[0].device(0)) == Self.names)
    #expect(heard(mesh, by: 0, from: try mesh.accounts[1].device(0)) == FormerNames())
    let told = (mesh.nodes[1].sent[session] ?? []).contains { if case .formerNames = $0 { true } else { false } }
    #expect(!told)
  }
}
