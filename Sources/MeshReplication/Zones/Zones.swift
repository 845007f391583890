import MeshCore

/// The zones that this node knows.
final class Zones {
  private let due: WorkQueue
  private var zones: [ZoneID: Zone] = [:]

  init(_ due: WorkQueue) { self.due = due }

  /// A zone's state. Only zones that were opened can be changed.
  subscript(_ id: ZoneID) -> Zone? {
    get { zones[id] }
    _modify { yield &zones[id] }
  }

  var count: Int { zones.count }
  /// The zones in order.
  var ids: [ZoneID] { zones.keys.sorted() }
  var values: some Collection<Zone> { zones.values }

  /// Adds an empty zone, unless the zone is here already.
  func open(_ id: ZoneID) { if zones[id] == nil { add(Zone(id), id) } }

  func add(_ zone: Zone, _ id: ZoneID) {
    zones[id] = zone
    due.note(.merge(id))
  }

  /// Removes a zone that could not be stored.
  func remove(_ id: ZoneID) {
    zones[id] = nil
    due.forget(id)
  }

  /// Returns whether both accounts are members of a zone.
  func isCommon(_ id: ZoneID, _ account: AccountID, _ other: AccountID) -> Bool {
    guard let state = zones[id]?.state else { return false }
    return state.permission(account) != nil && state.permission(other) != nil
  }

  /// Returns whether an account may have a zone's log: all accounts that its records name may, also those whose
  /// admission has no effect. They get the part that says so (see `Zone.visibleRecords`).
  func mayHaveLog(_ account: AccountID, _ id: ZoneID) -> Bool { zones[id]?.people.has(account) ?? false }

  /// Returns whether a zone here names the account. States of other accounts are not kept.
  func names(_ account: AccountID) -> Bool { zones.values.contains { $0.people.has(account) } }

  /// Returns the zone of all records of the account that are not in a share.
  func privateZone(of account: AccountID) -> ZoneID? {
    zones.values.filter { $0.state.owner == account && $0.state.root == nil }.map(\.state.zone).min()
  }
}
