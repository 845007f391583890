import MeshCore
import MeshCrypto
import Testing

@Suite struct ControlVectorTests {
  private let world: World
  private let file: VectorFile

  init() throws {
    world = try World()
    file = try VectorFile("control")
  }

  /// The log of the vectors, in order.
  private func log() throws -> [(name: String, record: ControlRecord)] {
    func record(_ parents: [ControlID], _ previous: ControlRecord?, _ act: ControlAct) throws -> ControlRecord {
      try ControlRecord(
        zone: world.zone, parents: parents, number: (previous?.number ?? 0) + 1, previous: previous?.id, act: act,
        secrets: world.desk.keys, world.cryptography)
    }
    let genesis = try record([], nil, .genesis(account: world.account, nonce: World.zoneNonce))
    let epoch = try record(
      [genesis.id], genesis, .epoch(commitment: world.epochKey.commitment(world.cryptography)))
    let points = [
      InstanceID(5): ControlAct.CutPoint(number: 1, id: try #require(ChangeSetID(fill(0xa1)))),
      world.lap.author.instance: ControlAct.CutPoint(number: 300, id: try #require(ChangeSetID(fill(0xa2)))),
    ]
    let cut = try record(
      [epoch.id, try #require(ControlID(fill(0xb1)))], epoch,
      .cut(
        DeviceCut(
          world.lap.id, last: .init(number: 9, id: try #require(ControlID(fill(0xa3)))), heads: points,
          zone: world.zone, sign: world.accountKey.sign)))
    let title = try record([cut.id], cut, .title("Home", time: World.time(0, 3)))
    let fork = try record([title.id], title, .fork(try proof()))
    let end = try record([fork.id], fork, .end(instance: world.desk.author.instance, number: 7))
    var log = [
      ("genesis", genesis), ("epoch", epoch), ("cut", cut), ("title", title), ("fork", fork), ("end", end),
    ]
    for (name, act) in try shareActs() { log.append((name, try record([log[log.count - 1].1.id], log.last?.1, act))) }
    let invite = log.first { $0.0 == "invite" }?.1
    let claim = try world.shareClaim(of: invite?.id)
    log.append(("admission", try record([log[log.count - 1].1.id], log.last?.1, .admission(claim))))
    log.append(
      ("unknown act", try record([log[log.count - 1].1.id], log.last?.1, .unknown(tag: 200, bytes: [1, 2, 3]))))
    return log
  }

  private func shareActs() throws -> [(String, ControlAct)] {
    let stranger = try #require(AccountID(fill(0xd1)))
    let ticket = try #require(ControlID(fill(0xb2)))
    let cuts = [world.lap.author: ControlAct.CutPoint(number: 300, id: try #require(ChangeSetID(fill(0xa2))))]
    func terms(_ permission: Permission, _ use: InviteTerms.Use, _ account: AccountID?) -> ControlAct {
      .invite(
        InviteTerms(
          publicHalf: world.cryptography.publicKey(seed: World.shareInviteSeed), permission: permission,
          expires: World.now + 900_000, use: use, account: account.map { DisplayedID($0) }))
    }
    return [
      (
        "share genesis",
        .shareGenesis(
          account: world.account, nonce: World.zoneNonce, root: RecordName(table: "lists", key: .text("a")))
      ),
      ("open invite", terms(.readOnly, .open, nil)),
      ("invite", terms(.readWrite, .limited(3, by: world.desk.id), stranger)),
      ("revoke invite", .revokeInvite(ticket, standing: [stranger])),
      ("participant", .participant(stranger, .readWrite, invite: ticket, cuts: [:])),
      ("removal", .participant(stranger, nil, invite: nil, cuts: cuts)), ("leave", .leave(cuts: cuts)), ("stop", .stop),
    ]
  }

  private func isSound(_ record: ControlRecord) throws -> Bool {
    var people = ZonePeople(record.zone)
    people.meet(.genesis(account: world.account, nonce: World.zoneNonce), world.cryptography)
    // Let in by an invite that is open, and is among the records before it.
    if case .admission(let claim) = record.act {
      #expect(!record.isSound(people, Accounts([try world.state()]), world.cryptography))
      let terms = InviteTerms(
        publicHalf: claim.publicHalf, permission: .readOnly, expires: 0, use: .open, account: nil)
      people.meet(.invite(terms), id: claim.invite, world.cryptography)
    }
    return record.isSound(people, Accounts([try world.state()]), world.cryptography)
  }

  /// Two change sets by the desk; the vectors have the hashes of what is sealed, and not the bodies.
  private func proof() throws -> ForkProof {
    var reader = ByteReader(try file.bytes("fork proof"))
    let one = try SignedHeader(from: &reader, world.cryptography)
    let other = try SignedHeader(from: &reader, world.cryptography)
    try reader.end()
    #expect(one.id < other.id)
    return try #require(ForkProof(one, other))
  }

  @Test("a control record of each act decodes from its vector and encodes to it")
  func recordsOfEachActAreReadAndWritten() throws {
    for (name, record) in try log() {
      let bytes = try file.bytes(name)
      #expect(record.encoded == bytes, "\(name)")
      let read = try ControlRecord(bytes, world.cryptography)
      #expect(read == record, "\(name)")
      #expect(read.isSigned(world.cryptography), "\(name)")
      #expect(try isSound(read), "\(name)")
      #expect(read.id.bytes == (try file.bytes(name + " id")), "\(name)")
    }
  }

  @Test("a control record is sound only if its cutoff or fork proof is signed")
  func whatARecordProvesIsVerified() throws {
    func record(_ act: ControlAct) throws -> ControlRecord {
      try ControlRecord(
        zone: world.zone, parents: [], number: 1, previous: nil, act: act, secrets: world.desk.keys, world.cryptography)
    }
    let proof = try proof()
    #expect(proof.limit == 1 && proof.author == world.desk.author)
    #expect(ForkProof(proof.first, proof.first) == nil)
    // A device's own word does not cut another; nor does the account's, for another zone.
    let other = try #require(ZoneID(fill(3)))
    for sign in [world.desk.keys.sign, { _ in fill(0, 64) }] {
      let cut = DeviceCut(world.lap.id, last: nil, heads: [:], zone: world.zone, sign: sign)
      #expect(try !isSound(record(.cut(cut))))
    }
    let elsewhere = DeviceCut(world.lap.id, last: nil, heads: [:], zone: other, sign: world.accountKey.sign)
    #expect(try !isSound(record(.cut(elsewhere))))
    let cut = DeviceCut(world.lap.id, last: nil, heads: [:], zone: world.zone, sign: world.accountKey.sign)
    #expect(try isSound(record(.cut(cut))))
    // Every byte of a fork's proof counts.
    let bytes = try file.bytes("fork proof")
    for index in bytes.indices {
      var altered = bytes
      altered[index] ^= 0x01
      var reader = ByteReader(altered)
      guard let one = try? SignedHeader(from: &reader, world.cryptography),
        let two = try? SignedHeader(from: &reader, world.cryptography), let forged = ForkProof(one, two)
      else { continue }
      #expect(try !isSound(record(.fork(forged))), "byte \(index)")
    }
  }

  @Test("a share claim with an altered byte or for another zone is not sound") func everyByteOfAClaimCounts() throws {
    let bytes = try VectorFile("session").bytes("share claim")
    func claim(_ bytes: [UInt8]) -> ShareClaim? {
      guard case .shareClaim(_, let claim) = try? Message.decode(bytes) else { return nil }
      return claim
    }
    #expect(claim(bytes)?.isSound(zone: world.zone, world.cryptography) == true)
    #expect(claim(bytes)?.isSound(zone: try #require(ZoneID(fill(3))), world.cryptography) == false)
    for index in 33..<bytes.count {
      var altered = bytes
      altered[index] ^= 0x01
      #expect(claim(altered)?.isSound(zone: world.zone, world.cryptography) != true, "byte \(index)")
    }
  }

  @Test(
    "a control record with an altered byte is rejected",
    arguments: ["cut", "fork", "end", "invite", "removal", "admission"])
  func anyAlteredByteOfARecordIsNoticed(name: String) throws {
    let bytes = try file.bytes(name)
    for index in bytes.indices {
      var altered = bytes
      altered[index] ^= 0x01
      let record = try? ControlRecord(altered, world.cryptography)
      #expect(record?.isSigned(world.cryptography) != true, "byte \(index)")
    }
  }

  @Test("a genesis, request, certificate and revocation encode to their vectors")
  func accountObjectsAreReadAndWritten() throws {
    let accounts = try VectorFile("accounts")
    #expect(try encoded(world.genesis.write) == accounts.bytes("genesis"))
    #expect(try encoded(world.desk.request.write) == accounts.bytes("request"))
    #expect(try encoded(world.desk.certificate.write) == accounts.bytes("certificate desk"))
    #expect(try encoded(world.lap.certificate.write) == accounts.bytes("certificate lap"))
    #expect(try encoded(world.revocation.write) == accounts.bytes("revocation lap"))
    var reader = ByteReader(try accounts.bytes("certificate desk"))
    #expect(try Certificate(from: &reader) == world.desk.certificate)
    reader = ByteReader(try accounts.bytes("revocation lap"))
    #expect(try Revocation(from: &reader) == world.revocation)
  }

  @Test("statements by a later key and by an administrator are read and written")
  func statementsWithAnAuthority() throws {
    let accounts = try VectorFile("accounts")
    let later = try world.later()
    #expect(try encoded(later.desk.write) == accounts.bytes("certificate desk by a later key"))
    #expect(try encoded(later.lap.write) == accounts.bytes("certificate lap by an administrator"))
    #expect(try encoded(later.revocation.write) == accounts.bytes("revocation lap by an administrator"))
    #expect(try encoded(later.demotion.write) == accounts.bytes("demotion"))
    #expect(later.state.encoded == (try accounts.bytes("state of a later key")))
    var reader = ByteReader(try accounts.bytes("state of a later key"))
    let read = try AccountState(from: &reader, world.cryptography)
    try reader.end()
    #expect(read == later.state && read.isExcluded(world.lap.id) && read.liveDevices == [world.desk.id])
    var demoted = read
    let isTaken = demoted.insert(later.demotion, world.cryptography)
    #expect(isTaken && demoted.isUnconfirmed(world.lap.id))
  }

  @Test("an account state decodes from its vector and encodes to it") func anAccountStateIsReadAndWritten() throws {
    let accounts = try VectorFile("accounts")
    let state = try world.state()
    #expect(state.encoded == (try accounts.bytes("state")))
    #expect(state.head(world.cryptography) == (try accounts.bytes("head")))
    var reader = ByteReader(try accounts.bytes("state"))
    let read = try AccountState(from: &reader, world.cryptography)
    try reader.end()
    #expect(read == state)
    #expect(read.isExcluded(world.lap.id) && read.liveDevices == [world.desk.id])
  }

  @Test(
    "an account state with an altered byte is rejected or has another id", arguments: ["state", "state of a later key"])
  func anyAlteredByteOfAnAccountStateIsRefused(name: String) throws {
    let bytes = try VectorFile("accounts").bytes(name)
    for index in bytes.indices {
      var altered = bytes
      altered[index] ^= 0x10
      var reader = ByteReader(altered)
      let state = try? AccountState(from: &reader, world.cryptography)
      // The recovery key and the salt are covered by the account's id alone.
      #expect(state == nil || state?.id != world.account, "byte \(index)")
    }
  }

  private func encoded(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    write(&writer)
    return writer.bytes
  }
}
