import MeshCore
import MeshReplication

/// A zone that a node of the simulation made.
struct KnownZone {
  let id: ZoneID
  /// The index of the account that owns it.
  let account: Int
  /// The record that the share was made of, or nil for a private zone.
  let root: RecordName?
  /// The name in traces. It is empty if there is only one zone.
  let name: String
  var suffix: String { name.isEmpty ? "" : " in \(name)" }
  /// The accounts that were given an invite. Nobody else may ever read the zone.
  fileprivate(set) var invited: Set<Int> = []
}

/// The accounts of the nodes, the zones that they have made, and which nodes belong to which zone.
final class KnownZones {
  let accounts: [TestAccount]
  /// The zones in the order in which they were met: each account's private zone, and shares.
  private(set) var all: [KnownZone] = []
  private let nodes: [SimulatedNode]
  private let cryptography: any Cryptography

  init(_ nodes: [SimulatedNode], _ accounts: [TestAccount], _ cryptography: any Cryptography) {
    (self.nodes, self.accounts, self.cryptography) = (nodes, accounts, cryptography)
  }

  // MARK: Accounts

  var hasShares: Bool { accounts.count > 1 }

  /// Returns the device that holds the key of a node's account.
  func keeper(of node: SimulatedNode) -> SimulatedNode {
    nodes.first { $0.home.account == node.home.account && $0.home.place == 0 } ?? node
  }

  func accountID(_ index: Int) -> AccountID { accounts[index].state.id }

  func account(of node: SimulatedNode) -> AccountID { accountID(node.home.account) }

  func index(of account: AccountID) -> Int? { accounts.firstIndex { $0.state.id == account } }

  static func letter(_ account: Int) -> String { String(UnicodeScalar(UInt8(97 + account))) }

  func letter(_ account: AccountID) -> String { index(of: account).map(Self.letter) ?? "?" }

  /// Returns the accounts as a node knows them.
  func accountsKnown(to node: SimulatedNode) -> Accounts {
    Accounts(accounts.indices.compactMap { node.replica?.accountState(accountID($0)) })
  }

  // MARK: Zones

  subscript(zone: ZoneID) -> KnownZone? { all.first { $0.id == zone } }

  func name(_ zone: ZoneID) -> String { self[zone]?.name ?? "a share" }

  /// The name of the next share.
  var nextName: String { "share-\(shareCount)" }
  var shareCount: Int { all.count { $0.root != nil } }

  /// Returns the private zone of a node's account, once it exists.
  func privateZone(of node: SimulatedNode) -> ZoneID? { privateZone(of: node.home.account) }

  /// The first account's private zone. If there is only one account, it is the only zone.
  var firstPrivateZone: ZoneID? { privateZone(of: 0) }

  private func privateZone(of account: Int) -> ZoneID? { all.first { $0.root == nil && $0.account == account }?.id }

  func notePrivateZone(_ zone: ZoneID, of node: SimulatedNode) {
    let account = node.home.account
    all.append(
      KnownZone(id: zone, account: account, root: nil, name: hasShares ? "private-\(Self.letter(account))" : ""))
  }

  func noteInvite(of account: Int, to zone: ZoneID) {
    guard let place = all.firstIndex(where: { $0.id == zone }) else { return }
    all[place].invited.insert(account)
  }

  /// Notes the shares that a node's account has made since the last look. They include shares whose creation was
  /// interrupted by a death.
  func meetShares(_ node: SimulatedNode) throws {
    guard let replica = node.replica, !node.isLiar else { return }
    for id in replica.zoneIDs where self[id] == nil {
      guard let state = replica.shareState(id), state.owner == account(of: node),
        let root = state.root.map({ RecordName(table: $0.table.asciiLowercased, key: $0.key) })
      else { continue }
      all.append(KnownZone(id: id, account: node.home.account, root: root, name: nextName))
    }
  }

  /// Returns the zones that a node's file knows, in the order of their creation.
  func zones(of node: SimulatedNode) throws -> [KnownZone] {
    guard hasShares else { return all }
    guard let store = node.store else { return [] }
    try meetShares(node)
    let known = Set(try store.control.knownZones())
    return all.filter { known.contains($0.id) }
  }

  /// Returns the names that a long BLOB may have in change sets: one for each zone in which it may have been written
  /// first. Other values have one name.
  func names(of value: Value) -> Set<Value> {
    guard value.isLongBLOB else { return [value] }
    return Set(all.map { AssetNaming(zone: $0.id, cryptography: cryptography).name(value) })
  }

  /// The keys of all epochs, of all nodes.
  var keys: [EpochID: EpochKey] {
    nodes.reduce(into: [:]) { keys, node in
      for zone in all { keys.merge(node.vault.epochKeys(zone.id)) { first, _ in first } }
    }
  }

  // MARK: Control logs

  func controlRecords(_ store: any ReplicaStore, _ zone: ZoneID) throws -> [ControlRecord] {
    try store.control.controlRecords(zone).map { try ControlRecord($0, cryptography) }
  }

  /// Returns the state that a node's control log describes, as far as the node knows the accounts.
  func state(of zone: ZoneID, at node: SimulatedNode) throws -> ZoneState? {
    guard let store = node.store else { return nil }
    return ZoneState(zone, records: try controlRecords(store, zone), accounts: accountsKnown(to: node), cryptography)
  }

  /// Returns the state of the zone at the first honest node of its owner.
  func authority(_ zone: KnownZone) throws -> ZoneState? {
    let owner = try nodes.honest.first { node in
      try node.home.account == zone.account && node.store?.control.knownZones().contains(zone.id) == true
    }
    return try owner.flatMap { try state(of: zone.id, at: $0) }
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

  // MARK: Members

  /// Returns the honest nodes of accounts that are members.
  func members(_ zone: KnownZone) throws -> [SimulatedNode] {
    guard hasShares else { return nodes.honest }
    guard let state = try authority(zone) else { return [] }
    return try nodes.honest.filter { node in
      try state.permission(account(of: node)) != nil && !isUnmet(zone, by: node.home.account)
    }
  }

  /// Returns whether no device of the account knows the zone, because the device that joined was revoked, stopped, or
  /// got an older home back before another one had met the zone.
  func isUnmet(_ zone: KnownZone, by account: Int) throws -> Bool {
    try zone.account != account
      && !nodes.honest.contains {
        try $0.home.account == account && $0.store?.control.knownZones().contains(zone.id) != false
      }
      && nodes.contains { ($0.isRevoked || $0.isStopped || $0.hasOtherHistory) && $0.home.account == account }
  }

  /// Returns whether, according to the log, the node's account was out at some time: it left or was removed, or the
  /// share had ended.
  func wasOut(_ node: SimulatedNode, _ state: ZoneState) throws -> Bool {
    let account = account(of: node)
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
    try !nodes.honest.contains { node in
      try node.home.account == zone.account && node.store?.control.knownZones().contains(zone.id) != false
    }
  }
}
