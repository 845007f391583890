import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// The names that accounts give themselves.
@Suite struct AccountNameTests {
  @Test("members of a share learn each other's names, and nobody names another account")
  func namesAreLearned() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.connect(1, 0)
    try mesh.pump()
    let (owner, member) = (mesh.accounts[0].state.id, mesh.accounts[1].state.id)
    #expect(mesh.nodes[0].store.accountNames == [member: "private"])
    #expect(mesh.nodes[1].store.accountNames == [owner: "private"])
  }

  @Test("the first name counts in a session, and what an own device sends is no account's name")
  func firstName() throws {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    let member = mesh.accounts[1].state.id
    for name in ["first", "second"] {
      let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
      try mesh.give(.accountName(name), to: 0, link)
      try mesh.give(.accountName("later"), to: 0, link)
      #expect(mesh.nodes[0].store.accountNames[member] == name)
    }
    let own = try mesh.admit(1, of: mesh.accounts[0], to: 0)
    try mesh.give(.accountName("own"), to: 0, own)
    #expect(mesh.nodes[0].store.accountNames == [member: "second"])
  }

  @Test(
    "names are no more than a line of text", arguments: ["", "a\n", "\u{1b}[2J", String(repeating: "x", count: 65)])
  func malformed(name: String) {
    #expect(throws: FormatError.self) { try Message.decode(Message.accountName(name).encoded) }
  }
}
