import MeshCore

/// What of a zone's control log somebody may know who is out: the records that say so, and what leads to them. So a removed account
/// can read its removal, and learns nothing that came later.
extension Replica.Zone {
  /// Nil if the account may know all: the one here, and members.
  func visibleRecords(to peer: AccountID, here: AccountID) -> Set<ControlID>? {
    guard peer != here, state.permission(peer) == nil else { return nil }
    var visible: Set<ControlID> = []
    var stack = records.values.filter { concerns($0, peer) }.map(\.id)
    while let id = stack.popLast() {
      guard let record = records[id], visible.insert(id).inserted else { continue }
      stack.append(contentsOf: record.parents + (record.previous.map { [$0] } ?? []))
    }
    return visible
  }

  /// The accounts that those records name.
  func visiblePeople(to peer: AccountID, here: AccountID, _ cryptography: any Cryptography) -> ZonePeople {
    guard let visible = visibleRecords(to: peer, here: here) else { return people }
    return visible.reduce(into: ZonePeople(state.zone)) { people, id in
      if let act = records[id]?.act { people.meet(act, cryptography) }
    }
  }

  private func concerns(_ record: ControlRecord, _ peer: AccountID) -> Bool {
    if state.account(of: record.author) == peer { return true }
    return switch record.act {
    case .participant(let account, _, _, _): account == peer
    case .admission(let claim): claim.account == peer
    case .cut(let cut): state.account(of: cut.device) == peer
    // Who was out before has no part in that.
    case .stop: if case .member = state.participants[peer]?.status { true } else { false }
    default: false
    }
  }
}
