import MeshCore
import Testing

@testable import MeshStore

/// A record of one's own, and another's share that was made of a record with the same table and key.
@Suite struct EqualRootTests {
  private static let (share, home) = (Member.zone(2), Member.zone(3))
  private static let root = RecordName(table: "lists", key: .text("L"))
  private static let theirs = ["lists L", "reminders r1"]

  private func owner() throws -> Member {
    let owner = try Member(1, [ZoneStanding(zone: Member.zone(1), role: .privateZone)])
    try owner.run("INSERT INTO lists VALUES ('L', 'shared'); INSERT INTO reminders VALUES ('r1', 'L', 'milk', 0)")
    try owner.settle()
    try owner.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root))
    try owner.settle()
    return owner
  }

  /// Has a list of that key, and joins.
  private func participant(_ role: ZoneStanding.Role, of owner: Member) throws -> Member {
    let member = try Member(9, [ZoneStanding(zone: Self.home, role: .privateZone)])
    try member.run("INSERT INTO lists VALUES ('L', 'mine'); INSERT INTO reminders VALUES ('p1', 'L', 'x', 0)")
    try member.settle()
    try member.stand(ZoneStanding(zone: Self.share, role: role, root: Self.root))
    try member.pull(Self.share, from: owner)
    return member
  }

  @Test(
    "rows under a private record with the key of a share's root stay private",
    arguments: [ZoneStanding.Role.readWrite, .readOnly])
  func whatBelongsToOnesOwnRecordGoesToNobodysShare(role: ZoneStanding.Role) throws {
    let owner = try owner()
    let member = try participant(role, of: owner)
    #expect(try member.contents() == ["lists|L|mine", "reminders|p1|L|x|0"])
    try member.run("INSERT INTO reminders VALUES ('p2', 'L', 'secret', 0)")
    try member.settle()
    #expect(try member.records(Self.share) == Self.theirs)
    #expect(try member.records(Self.home) == ["lists L", "reminders p1", "reminders p2"])
    try member.run("UPDATE reminders SET list = NULL; UPDATE reminders SET list = 'L'")
    try member.settle()
    #expect(try member.records(Self.share) == Self.theirs)
    try member.run("REPLACE INTO lists VALUES ('L', 'again')")
    try member.settle()
    #expect(try member.records(Self.share) == Self.theirs)
    #expect(try member.contents() == ["lists|L|again"] && member.records(Self.home) == ["lists L"])
    #expect(try member.store.zones.receipts(Self.share).isEmpty)
    #expect(try member.store.zones.digest(Self.share) == owner.store.zones.digest(Self.share))
  }

  @Test("a private record with the key of another share's root can be shared") func onesOwnRecordCanBeSharedAsWell()
    throws
  {
    let member = try participant(.readWrite, of: owner())
    #expect(try member.store.zones.obstacle(toSharing: Self.root) == nil)
    let own = Member.zone(4)
    try member.stand(ZoneStanding(zone: own, role: .owned, root: Self.root))
    try member.run("INSERT INTO reminders VALUES ('p2', 'L', 'x', 0)")
    try member.settle()
    #expect(try member.records(own) == ["lists L", "reminders p1", "reminders p2"])
    #expect(try member.records(Self.share) == Self.theirs)
    try member.run("DELETE FROM lists WHERE id = 'L'")
    try member.settle()
    #expect(member.deletedRoots == [own])
    #expect(try member.contents() == ["lists|L|shared", "reminders|r1|L|milk|0"], "the other's is shown now")
  }
}
