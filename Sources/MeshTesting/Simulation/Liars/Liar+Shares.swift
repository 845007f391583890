import MeshCore
import MeshCrypto
import MeshReplication

extension Liar.Occasion {
  /// Returns the same occasion in the name of a device whose keys were given away.
  func of(_ keys: DeviceKeys, _ device: DeviceID, citation: ControlID?) -> Self {
    Self(
      zone: zone, citation: citation, epoch: epoch, key: key, keys: keys, device: device, victim: victim, now: now,
      cryptography: cryptography)
  }
}

extension Liar {
  /// Returns a change set of a revoked device, by somebody who still has its keys.
  mutating func revokedWrite(_ occasion: Occasion) throws -> [[UInt8]] {
    let lie = try changeSet(.revoked, occasion, key: .text("list2a"), title: "of a revoked device")
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns change sets that cite the liar's own grant, another one's, or none.
  mutating func overreach(_ occasion: Occasion, _ state: ZoneState) throws -> [[UInt8]] {
    var occasion = occasion
    let grants = state.participants.values.map(\.grant).sorted()
    if generator.once(in: 3) { occasion.citation = nil }
    if generator.once(in: 3) { occasion.citation = grants.randomElement(using: &generator) }
    let lie = try changeSet(
      .overreach, occasion, key: .text("list\(Int.random(in: 0..<4, using: &generator))a"), title: "overreach")
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns a change set under a key that removed accounts may have.
  mutating func oldEpoch(_ occasion: Occasion, _ keys: [EpochID: EpochKey]) throws -> [[UInt8]] {
    let old = keys.keys.sorted().filter { $0 != occasion.epoch }
    guard let epoch = old.randomElement(using: &generator), let key = keys[epoch] else { return [] }
    let past = Occasion(
      zone: occasion.zone, citation: occasion.citation, epoch: epoch, key: key, keys: occasion.keys,
      device: occasion.device, victim: occasion.victim, now: occasion.now, cryptography: occasion.cryptography)
    let lie = try changeSet(.oldEpoch, past, key: .text("list1a"), title: "of an old epoch")
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns an act that only the owner may sign, or one that anybody may sign, in another account's name.
  mutating func forgedRecord(_ occasion: Occasion, _ state: ZoneState, _ account: AccountID) throws -> [UInt8] {
    let secret = generator.bytes(32)
    let acts: [ControlAct] =
      [
        .participant(account, .readWrite, invite: nil, cuts: [:]), .stop,
        .title("mine", time: HybridTime(milliseconds: occasion.now)),
        .invite(
          InviteTerms(
            publicHalf: occasion.cryptography.publicKey(seed: secret), permission: .readWrite, expires: 0, use: .open,
            account: nil)),
        .participant(state.owner ?? account, nil, invite: nil, cuts: [:]),
      ] + state.participants.keys.sorted().map { .participant($0, nil, invite: nil, cuts: [:]) }
    let isBorrowed = generator.once(in: 2)
    let act = isBorrowed ? .leave(cuts: [:]) : acts.randomElement(using: &generator) ?? .stop
    let record = try ControlRecord(
      zone: occasion.zone, parents: state.heads, number: 1, previous: nil, act: act, secrets: occasion.keys,
      occasion.cryptography)
    var bytes = record.encoded
    if isBorrowed { Self.replace(occasion.device.bytes, by: occasion.victim.bytes, in: &bytes) }
    return Message.controlRecords(occasion.zone, [bytes]).encoded
  }

  private static func replace(_ old: [UInt8], by new: [UInt8], in bytes: inout [UInt8]) {
    guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: old) }) else { return }
    bytes.replaceSubrange(place..<place + old.count, with: new)
  }
}
