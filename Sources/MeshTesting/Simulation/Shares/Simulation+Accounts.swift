import MeshCore
import MeshReplication

/// A zone that a node of the simulation made.
struct KnownZone {
  let id: ZoneID
  /// The index of the account that owns it.
  let account: Int
  /// The record that the share was made of, or nil for a private zone.
  var root: RecordName?
  /// The name in traces. It is empty if there is only one zone.
  let name: String
  var suffix: String { name.isEmpty ? "" : " in \(name)" }
  /// The accounts that were given an invite. Nobody else may ever read the zone.
  var invited: Set<Int> = []
}

/// The accounts of the nodes, and the zones.
extension Simulation {
  var hasShares: Bool { accounts.count > 1 }

  /// The tables of every app.
  var tables: [AppSchema.Table] {
    (hasShares ? AppSchema.all : AppSchema.tables) + (plan.counts > 0 ? [AppSchema.tally] : [])
  }

  /// Returns the account of each node. If there are several accounts, liars have one of their own. The other nodes take
  /// turns.
  static func homes(of count: Int, _ plan: FaultPlan) -> [(account: Int, place: Int)] {
    let honest = count - plan.liars
    let isApart = plan.liars > 0 && plan.accounts > 1
    let groups = max(1, min(isApart ? plan.accounts - 1 : plan.accounts, honest))
    var sizes: [Int: Int] = [:]
    return (0..<count).map { index in
      let account = isApart && index >= honest ? groups : index % groups
      defer { sizes[account, default: 0] += 1 }
      return (account, sizes[account, default: 0])
    }
  }

  /// Returns the device that holds the key of a node's account.
  func keeper(of node: SimulatedNode) -> SimulatedNode {
    nodes.first { $0.home.account == node.home.account && $0.home.place == 0 } ?? node
  }

  func accountID(_ index: Int) -> AccountID { accounts[index].state.id }

  func index(of account: AccountID) -> Int? { accounts.firstIndex { $0.state.id == account } }

  func known(_ zone: ZoneID) -> KnownZone? { zones.first { $0.id == zone } }

  /// Returns the private zone of a node's account, once it exists.
  func privateZone(of node: SimulatedNode) -> ZoneID? {
    zones.first { $0.root == nil && $0.account == node.home.account }?.id
  }

  /// The first account's private zone. If there is only one account, it is the only zone.
  var zone: ZoneID? { zones.first { $0.root == nil && $0.account == 0 }?.id }

  /// Returns the zones that a node's file knows, in the order of their creation.
  func zones(of node: SimulatedNode) throws -> [KnownZone] {
    guard hasShares else { return zones }
    guard let store = node.store else { return [] }
    try meetShares(node)
    let known = Set(try store.control.knownZones())
    return zones.filter { known.contains($0.id) }
  }

  /// Notes the shares that a node's account has made since the last look. They include shares whose creation was
  /// interrupted by a death.
  func meetShares(_ node: SimulatedNode) throws {
    guard let replica = node.replica, !node.isLiar else { return }
    for id in replica.zoneIDs where known(id) == nil {
      guard let state = replica.shareState(id), state.owner == accountID(node.home.account),
        let root = state.root.map({ RecordName(table: $0.table.asciiLowercased, key: $0.key) })
      else { continue }
      zones.append(
        KnownZone(id: id, account: node.home.account, root: root, name: "share-\(zones.count { $0.root != nil })"))
    }
  }

  func letter(_ account: Int) -> String { String(UnicodeScalar(UInt8(97 + account))) }

  /// Makes the private zone of the account whose key a node holds.
  func makePrivateZone(_ node: SimulatedNode) throws {
    guard node.home.place == 0, privateZone(of: node) == nil else { return }
    var made: ZoneID?
    try input(node) { replica, now in made = try replica.administration.createPrivateZone(title: "private", now: now) }
    guard let made else { return }
    zones.append(
      KnownZone(id: made, account: node.home.account, name: hasShares ? "private-\(letter(node.home.account))" : ""))
  }

  /// Returns the accounts as a node knows them.
  func accountsKnown(to node: SimulatedNode) -> Accounts {
    Accounts(accounts.indices.compactMap { node.replica?.accountState(accountID($0)) })
  }

  /// Returns the state that a node's control log describes, as far as the node knows the accounts.
  func zoneState(_ node: SimulatedNode, _ zone: ZoneID) throws -> ZoneState? {
    guard let store = node.store else { return nil }
    return ZoneState(
      zone, records: try controlRecords(store, zone), accounts: accountsKnown(to: node), cryptography)
  }

  func controlRecords(_ store: any ReplicaStore, _ zone: ZoneID) throws -> [ControlRecord] {
    try store.control.controlRecords(zone).map { try ControlRecord($0, cryptography) }
  }

  /// Returns the state of the zone at the first honest node of its owner.
  func authority(_ zone: KnownZone) throws -> ZoneState? {
    try ownersNode(zone).flatMap { try zoneState($0, zone.id) }
  }

  private func ownersNode(_ zone: KnownZone) throws -> SimulatedNode? {
    try honest.first { try $0.home.account == zone.account && $0.store?.control.knownZones().contains(zone.id) == true }
  }

  /// Returns the honest nodes of accounts that are members.
  func members(_ zone: KnownZone) throws -> [SimulatedNode] {
    guard hasShares else { return honest }
    guard let state = try authority(zone) else { return [] }
    return try honest.filter { node in
      try state.permission(accountID(node.home.account)) != nil && !isUnmet(zone, by: node.home.account)
    }
  }

  /// Returns whether no device of the account knows the zone, because the device that joined was revoked, stopped, or
  /// got an older home back before another one had met the zone.
  private func isUnmet(_ zone: KnownZone, by account: Int) throws -> Bool {
    try zone.account != account
      && !honest.contains {
        try $0.home.account == account && $0.store?.control.knownZones().contains(zone.id) != false
      }
      && nodes.contains { ($0.isRevoked || $0.isStopped || $0.hasOtherHistory) && $0.home.account == account }
  }

  /// Returns whether, according to the log, the node's account was out at some time: it left or was removed, or the
  /// share had ended.
  func wasOut(_ node: SimulatedNode, _ state: ZoneState) throws -> Bool {
    let account = accountID(node.home.account)
    guard state.root != nil, state.owner != account, let store = node.store else { return false }
    return try state.permission(account) == nil
      || controlRecords(store, state.zone).contains { record in
        switch record.act {
        case .participant(account, nil, _, _), .stop: true
        case .leave: state.account(of: record.author) == account
        default: false
        }
      }
  }

  /// Returns whether the zone's owner lies, or doesn't know the zone because the device that made it was revoked before
  /// another one had met it.
  func isAbandoned(_ zone: KnownZone) throws -> Bool {
    try !honest.contains {
      try $0.home.account == zone.account && $0.store?.control.knownZones().contains(zone.id) != false
    }
  }

  private func difference(_ own: ZoneState, _ state: ZoneState) -> String {
    let parts: [(String, Bool)] = [
      ("heads", own.heads == state.heads), ("participants", own.participants == state.participants),
      ("epochs", own.epochs == state.epochs), ("cuts", own.cuts == state.cuts), ("ends", own.ends == state.ends),
      ("invites", own.invites == state.invites),
    ]
    let devices = nodes.filter { own.account(of: $0.firstDevice) != state.account(of: $0.firstDevice) }
    return (parts.filter { !$0.1 }.map(\.0) + devices.map { "whose n\($0.index) is" }).joined(separator: ", ")
  }

  /// Returns the reason why the nodes concerned don't agree on a zone, or nil if they agree.
  func disagreement(_ zone: KnownZone) throws -> String? {
    guard let state = try authority(zone) else { return "its owner is down" }
    for node in honest {
      guard let store = node.store else { return "n\(node.index) is down" }
      let account = accountID(node.home.account)
      let own = try zoneState(node, zone.id)
      if let own, let known = node.replica?.shareState(zone.id), known != own {
        return "n\(node.index) knows another state of \(zone.name) than its file has: \(difference(known, own))"
      }
      if state.permission(account) != nil {
        guard try own == state || isUnmet(zone, by: node.home.account) else {
          return
            "n\(node.index) reads \(zone.name) as its owner does not: \(own.map { difference($0, state) } ?? "nothing")"
        }
      } else if try store.control.knownZones().contains(zone.id) {
        guard own?.permission(account) == nil else {
          let why = own.map { difference($0, state) } ?? "nothing"
          return "n\(node.index) thinks it is a member of \(zone.name): \(why)"
        }
        guard try store.log.storedVector(zone.id).authors.isEmpty else {
          return "n\(node.index) still has \(zone.name)"
        }
      }
    }
    return nil
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
}
