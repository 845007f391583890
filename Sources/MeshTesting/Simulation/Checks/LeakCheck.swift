import MeshCore
import MeshReplication

/// The check of a message that an honest node tells another one. It is made when the node hands the message to a
/// connection, against what the receiver may know by then.
struct LeakCheck: MeshPart {
  let mesh: SimulatedMesh
  let node: SimulatedNode
  let other: SimulatedNode
  let replica: Replica

  /// Returns nil if the node is down.
  init?(_ mesh: SimulatedMesh, _ node: SimulatedNode, to other: SimulatedNode) {
    guard let replica = node.replica else { return nil }
    (self.mesh, self.node, self.other, self.replica) = (mesh, node, other, replica)
  }

  /// Checks one message. Devices of one account tell each other everything, unless one of them is revoked.
  func callAsFunction(_ bytes: [UInt8], on wire: Int) {
    let isOutside = other.home.account != node.home.account
    let isExcluded = replica.accountState(zones.account(of: other))?.isExcluded(other.device) == true
    guard isOutside || isExcluded, let message = try? Message.decode(bytes) else { return }
    if isExcluded, let zone = message.contents {
      return leak("\(message.name) of \(zones.name(zone)), although its device is revoked")
    }
    guard isOutside, !isOffer(message, on: wire) else { return }
    if let zone = message.contents ?? message.progress {
      guard let known = zones[zone], !mayRead(known) else { return }
      return leak("\(message.name) of \(known.name), of which it is no member")
    }
    switch message {
    case .controlHeads(let zone, _), .controlRecords(let zone, _):
      guard let known = zones[zone], !isCatchingUp(message, known) else { return }
      guard mayHaveLog(known) else {
        return leak("\(message.name) of \(known.name), in which it has no part")
      }
      if case .controlRecords(_, let records) = message, !mayRead(known) {
        lookForNews(records, known)
      }
    case .account(let bytes):
      guard let id = accountNamed(in: bytes) else { return }
      lookForStrangers([id])
    case .accountHeads(let heads): lookForStrangers(heads.keys.sorted())
    case .schema(let tables): lookForTables(tables.map(\.name))
    case .schemaRules(let rules): lookForTables(rules.map(\.table))
    case .columnPolicies(let policies): lookForTables(policies.map(\.table))
    case .formerNames(let names): lookForTables(names.map(\.table))
    default: break
    }
  }

  /// Returns whether a message asks for the records that a node lacks. A node that has not seen yet that it is a member
  /// answers records whose parents it lacks with its heads. It can't know whether their sender is a member, but the
  /// sender has the log.
  private func isCatchingUp(_ message: Message, _ zone: KnownZone) -> Bool {
    guard case .controlHeads = message, let state = replica.shareState(zone.id) else { return false }
    return state.permission(zones.account(of: node)) == nil && other.replica?.shareState(zone.id) != nil
  }

  /// Returns whether a message shows a share to a device that has dialed with an invite to it: the share's log, or an
  /// account that the log names. As far as the node knows, the invite must admit the receiver's account at this moment.
  /// The connection alone excuses nothing else, and an invite excuses nothing on other connections.
  private func isOffer(_ message: Message, on wire: Int) -> Bool {
    guard let known = mesh.network.wires[wire], let invite = known.invite, known.ends[1].node == node.index,
      let zone = zones[invite.zone], let state = replica.shareState(zone.id), admits(invite, state)
    else { return false }
    switch message {
    case .controlHeads(zone.id, _), .controlRecords(zone.id, _): return true
    case .account(let bytes):
      guard let account = accountNamed(in: bytes) else { return false }
      return state.accounts.contains(account) || zones.isNamed(account, in: zone, by: node)
    default: return false
    }
  }

  /// Returns whether the invite lets the receiver's account in, or has done so.
  private func admits(_ invite: ShareInviteContent, _ state: ZoneState) -> Bool {
    let account = zones.account(of: other)
    if state.permission(account) != nil { return true }
    guard !state.isStopped, let known = state.invites[invite.record] else { return false }
    let isBound = known.terms.account?.names(account)
    return isBound != false && (isBound == true || state.participants[account]?.status != .removed) && !known.isRevoked
      && known.usesLeft != 0 && !known.terms.isOver(at: node.clock.milliseconds())
  }

  private func leak(_ text: String) {
    violate("n\(node.index) tells n\(other.index) \(text)")
  }

  private func mayRead(_ zone: KnownZone) -> Bool {
    guard zone.root != nil, zone.account == other.home.account || zone.invited.contains(other.home.account) else {
      return zone.account == other.home.account
    }
    return replica.shareState(zone.id)?.permission(zones.account(of: other)) != nil
  }

  /// Returns whether the zone lists the account as a member or a former member, or has a record without effect that let
  /// it in.
  private func mayHaveLog(_ zone: KnownZone) -> Bool {
    let account = zones.account(of: other)
    guard zone.account != other.home.account else { return true }
    guard zone.root != nil, zone.invited.contains(other.home.account), let state = replica.shareState(zone.id) else {
      return false
    }
    return state.accounts.contains(account) || zones.isNamed(account, in: zone, by: node)
  }

  /// Checks that a former member learns only why it is out: records that concern it, and those that lead to them. A
  /// node may pass on the records of others that arrived in one message with the news that the receiver is out.
  private func lookForNews(_ records: [[UInt8]], _ zone: KnownZone) {
    guard let store = node.store, let state = replica.shareState(zone.id),
      let known = try? zones.controlRecords(store, zone.id)
    else { return }
    let log = ControlLog(known) { state.account(of: $0) }
    let account = zones.account(of: other)
    let concerning = log.records(concerning: account)
    for bytes in records {
      guard let record = try? ControlRecord(bytes, cryptography), log.account(of: record) != account,
        !concerning.contains(where: { $0 == record.id || log.hasSeen($0, record.id) }),
        record.author == node.device || !node.knewAsMember(account, of: zone.id)
      else { continue }
      leak("a control record of \(zone.name) that came after the receiver was out")
    }
  }

  private func accountNamed(in state: [UInt8]) -> AccountID? {
    var reader = ByteReader(state)
    return (try? AccountGenesis(from: &reader)).flatMap { AccountState($0, cryptography)?.id }
  }

  /// Checks that the receiver learns only of accounts that a zone lists which lists its own, or to which it is invited.
  /// Members also have the records without effect, and may know the accounts that they name.
  private func lookForStrangers(_ people: [AccountID]) {
    let receiver = zones.account(of: other)
    let strangers = people.filter { account in
      guard account != receiver, account != zones.account(of: node) else { return false }
      return !zones.all.contains { zone in
        guard let state = replica.shareState(zone.id), mayHaveLog(zone) else { return false }
        let isFormer = state.participants[receiver] != nil && state.permission(receiver) == nil
        return state.accounts.contains(account) || !isFormer && zones.isNamed(account, in: zone, by: node)
      }
    }
    for stranger in strangers {
      leak("of account \(zones.letter(stranger)), with which it has no share")
    }
  }

  /// Checks that the receiver learns only of tables that shares of both accounts can contain.
  private func lookForTables(_ names: [String]) {
    let members = [zones.account(of: node), zones.account(of: other)]
    let roots = zones.all.compactMap { zone -> String? in
      guard let state = replica.shareState(zone.id), members.allSatisfy({ state.permission($0) != nil }) else {
        return nil
      }
      return zone.root?.table
    }
    for name in names where !roots.contains(where: { AppSchema.isBelow(name.asciiLowercased, $0) }) {
      leak("of the table \(name), which no common share contains")
    }
  }
}
