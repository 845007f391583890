import MeshCore
import MeshReplication

/// The check of what a node may tell another one. Every message of an honest node is checked when the node hands it to a connection,
/// against what the receiver may know by then.
extension Simulation {
  /// Checks one message. Devices of one account tell each other everything, unless one of them is revoked.
  func lookForLeak(_ node: SimulatedNode, _ wire: Int, to other: SimulatedNode, _ bytes: [UInt8]) {
    guard let replica = node.replica else { return }
    let isOutside = other.home.account != node.home.account
    let isRevoked = replica.accountState(accountID(other.home.account))?.isRevoked(other.device) == true
    guard isOutside || isRevoked, let message = try? Message.decode(bytes) else { return }
    if isRevoked, let zone = message.contents {
      return leak(node, other, "\(message.name) of \(shareName(zone)), although its device is revoked")
    }
    // A device that proves an invite is shown the log of the share, and the accounts that it names.
    guard isOutside, !joins.contains(where: { $0.wire == wire }) || message.contents ?? message.progress != nil else {
      return
    }
    if let zone = message.contents ?? message.progress {
      guard let known = known(zone), !mayRead(known, other, replica) else { return }
      return leak(node, other, "\(message.name) of \(known.name), of which it is no member")
    }
    switch message {
    case .controlHeads(let zone, _), .controlRecords(let zone, _):
      guard let known = known(zone), !isCatchingUp(message, known, node, with: other, replica) else { return }
      guard mayHaveLog(known, other, node, replica) else {
        return leak(node, other, "\(message.name) of \(known.name), in which it has no part")
      }
      if case .controlRecords(_, let records) = message, !mayRead(known, other, replica) {
        lookForNews(records, known, node, other, replica)
      }
    case .account(let bytes):
      guard let id = accountNamed(in: bytes) else { return }
      lookForStrangers([id], node, other, replica)
    case .accountHeads(let heads): lookForStrangers(heads.keys.sorted(), node, other, replica)
    case .schema(let tables): lookForTables(tables.map(\.name), node, other, replica)
    case .schemaRules(let rules): lookForTables(rules.map(\.table), node, other, replica)
    case .columnPolicies(let policies): lookForTables(policies.map(\.table), node, other, replica)
    default: break
    }
  }

  /// Returns whether a message asks for the records that a node lacks. A node that has not seen yet that it is a member
  /// answers records whose parents it lacks with its heads. It can't know whether their sender is a member, but the
  /// sender has the log.
  private func isCatchingUp(
    _ message: Message, _ zone: KnownZone, _ node: SimulatedNode, with other: SimulatedNode, _ replica: Replica
  ) -> Bool {
    guard case .controlHeads = message, let state = replica.shareState(zone.id) else { return false }
    return state.permission(accountID(node.home.account)) == nil && other.replica?.shareState(zone.id) != nil
  }

  private func leak(_ node: SimulatedNode, _ other: SimulatedNode, _ text: String) {
    violate("n\(node.index) tells n\(other.index) \(text)")
  }

  private func mayRead(_ zone: KnownZone, _ other: SimulatedNode, _ replica: Replica) -> Bool {
    guard zone.root != nil, zone.account == other.home.account || zone.invited.contains(other.home.account) else {
      return zone.account == other.home.account
    }
    return replica.shareState(zone.id)?.permission(accountID(other.home.account)) != nil
  }

  /// Returns whether the zone lists the account as a member or a former member, or has a record without effect that let
  /// it in.
  private func mayHaveLog(_ zone: KnownZone, _ other: SimulatedNode, _ node: SimulatedNode, _ replica: Replica) -> Bool
  {
    let account = accountID(other.home.account)
    guard zone.account != other.home.account else { return true }
    guard zone.root != nil, zone.invited.contains(other.home.account), let state = replica.shareState(zone.id) else {
      return false
    }
    return state.accounts.contains(account) || isNamed(account, in: zone, by: node)
  }

  /// Checks that a former member learns only why it is out: records that concern it, and those that lead to them. A
  /// node may pass on the records of others that arrived in one message with the news that the receiver is out.
  private func lookForNews(
    _ records: [[UInt8]], _ zone: KnownZone, _ node: SimulatedNode, _ other: SimulatedNode, _ replica: Replica
  ) {
    guard let store = node.store, let state = replica.shareState(zone.id),
      let known = try? controlRecords(store, zone.id)
    else { return }
    let log = ControlLog(known) { state.account(of: $0) }
    let account = accountID(other.home.account)
    let concerning = log.records(concerning: account)
    for bytes in records {
      guard let record = try? ControlRecord(bytes, cryptography), log.account(of: record) != account,
        !concerning.contains(where: { $0 == record.id || log.hasSeen($0, record.id) }),
        record.author == node.device || !node.knewAsMember(account, of: zone.id)
      else { continue }
      leak(node, other, "a control record of \(zone.name) that came after the receiver was out")
    }
  }

  private func accountNamed(in state: [UInt8]) -> AccountID? {
    var reader = ByteReader(state)
    return (try? AccountGenesis(from: &reader)).flatMap { AccountState($0, cryptography)?.id }
  }

  /// Checks that the receiver learns only of accounts that a zone lists which lists its own, or to which it is invited.
  /// Members also have the records without effect, and may know the accounts that they name.
  private func lookForStrangers(
    _ people: [AccountID], _ node: SimulatedNode, _ other: SimulatedNode, _ replica: Replica
  ) {
    let receiver = accountID(other.home.account)
    let strangers = people.filter { account in
      guard account != receiver, account != accountID(node.home.account) else { return false }
      return !zones.contains { zone in
        guard let state = replica.shareState(zone.id), mayHaveLog(zone, other, node, replica) else { return false }
        let isFormer = state.participants[receiver] != nil && state.permission(receiver) == nil
        return state.accounts.contains(account) || !isFormer && isNamed(account, in: zone, by: node)
      }
    }
    for stranger in strangers {
      leak(node, other, "of account \(index(of: stranger).map(letter) ?? "?"), with which it has no share")
    }
  }

  /// Returns whether a record that a node has of a zone names the account, with or without effect.
  func isNamed(_ account: AccountID, in zone: KnownZone, by node: SimulatedNode) -> Bool {
    guard let store = node.store, let records = try? controlRecords(store, zone.id) else { return false }
    return records.contains { record in
      switch record.act {
      case .participant(account, _, _, _): true
      case .admission(let claim): claim.account == account
      default: false
      }
    }
  }

  /// Checks that the receiver learns only of tables that shares of both accounts can contain.
  private func lookForTables(
    _ names: [String], _ node: SimulatedNode, _ other: SimulatedNode, _ replica: Replica
  ) {
    let members = [accountID(node.home.account), accountID(other.home.account)]
    let roots = zones.compactMap { zone -> String? in
      guard let state = replica.shareState(zone.id), members.allSatisfy({ state.permission($0) != nil }) else {
        return nil
      }
      return zone.root?.table
    }
    for name in names where !roots.contains(where: { AppSchema.isBelow(name.asciiLowercased, $0) }) {
      leak(node, other, "of the table \(name), which no common share contains")
    }
  }
}
