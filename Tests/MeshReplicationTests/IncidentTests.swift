import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// Failures of other systems that need a dialogue of nodes to reproduce. See Incidents in the documentation of MeshTesting.
@Suite struct IncidentTests {
  @Test("a peer that says it has sent everything, and sent nothing, moves nothing")
  func aPeerThatSaysItHasSentEverythingAndSentNothingMovesNothing() throws {
    let mesh = try TestMesh(3)
    let zone = try mesh.zone
    try mesh.write(0, "a", "here")
    let (stored, merged) = (mesh.nodes[0].store.storedVector(zone), mesh.nodes[0].store.mergedVector(zone))
    let link = try mesh.admit(2, to: 0)
    let author = Author(device: try mesh.account.device(2), instance: InstanceID(7))
    let claimed = VersionVector([author: 5])
    try mesh.give(.have(zone, claimed), to: 0, link)
    try mesh.give(.changeSets(zone, []), to: 0, link)
    try mesh.give(.upToDate(zone, claimed), to: 0, link)
    #expect(mesh.nodes[0].store.storedVector(zone) == stored)
    #expect(mesh.nodes[0].store.mergedVector(zone) == merged)
    // This node doesn't claim to have change sets that it only heard of.
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.write(0, "a", "goes on")
    #expect(mesh.title(1, "a") == .text("goes on"))
    for messages in mesh.nodes[0].sent.values {
      for message in messages {
        switch message {
        case .want(_, let vector), .have(_, let vector), .upToDate(_, let vector): #expect(vector[author] == 0)
        case .acknowledgement(let word): #expect(word.merged[author] == 0)
        default: break
        }
      }
    }
  }

  @Test("a relay that was wiped is filled again, and passes on what it once had")
  func aRelayThatWasWipedIsFilledAgainAndPassesOnWhatItOnceHad() throws {
    let mesh = try TestMesh(3)
    try mesh.connect(1, 0)
    try mesh.write(0, "a", "old")
    try mesh.write(1, "b", "the relay's own")
    #expect(mesh.title(1, "a") == .text("old") && mesh.title(0, "b") == .text("the relay's own"))
    try mesh.restart(1, store: ModelStore(mesh.cryptography))
    #expect(mesh.title(1, "a") == nil)
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.connect(2, 1)
    try mesh.pump()
    for node in [1, 2] {
      #expect(mesh.title(node, "a") == .text("old"))
      #expect(mesh.title(node, "b") == .text("the relay's own"))
    }
    // Its new change sets are not a fork under its old numbers.
    try mesh.write(1, "c", "new")
    #expect(mesh.title(0, "c") == .text("new") && mesh.title(2, "c") == .text("new"))
    #expect(mesh.nodes.allSatisfy { $0.replica.refusals["fork"] == nil })
    let zone = try mesh.zone
    #expect(Set(mesh.nodes.map { $0.store.digest(zone) }).count == 1)
  }

  @Test("nothing that a member says takes a zone away") func nothingThatAMemberSaysTakesAZoneAway() throws {
    let mesh = try TestMesh(3)
    let zone = try mesh.zone
    try mesh.connect(1, 0)
    try mesh.write(0, "a", "stays")
    for node in [0, 1] {
      let link = try mesh.admit(2, to: node)
      let heads = try mesh.nodes[node].store.controlRecords(zone).map { try ControlRecord($0, mesh.cryptography).id }
      // These are all acts that this version doesn't know, whatever a later version uses them for.
      var previous: ControlID?
      for tag in UInt8(240)...253 {
        let record = try ControlRecord(
          zone: zone, parents: [try #require(previous ?? heads.last)], number: UInt64(tag) - 239, previous: previous,
          act: .unknown(tag: tag, bytes: zone.bytes), secrets: mesh.account.devices[2], mesh.cryptography)
        previous = record.id
        try mesh.give(.controlRecords(zone, [record.encoded]), to: node, link)
      }
      try mesh.give(.zones([]), to: node, link)
      try mesh.give(.goodbye(.revoked, text: ""), to: node, link)
      #expect(mesh.title(node, "a") == .text("stays"))
      #expect(try mesh.nodes[node].replica.zoneViews.view(zone)?.cannotWrite == nil)
    }
    try mesh.write(1, "a", "still")
    #expect(mesh.title(0, "a") == .text("still"))
  }
}
