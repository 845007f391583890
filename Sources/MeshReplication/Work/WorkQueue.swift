import MeshCore

/// The work that is due, and whose turn it is.
final class WorkQueue {
  enum Item: Hashable {
    /// The schema may have changed.
    case upkeep
    /// A transaction of local writes failed, perhaps after its commit. The file may then contain signed change sets of
    /// which no peer was told.
    case unannounced
    /// Programs may have written rows.
    case flush
    /// A zone may have change sets to merge, or merged records to show.
    case merge(ZoneID)
    /// Records, or the peers that have their assets, may have changed.
    case assets
  }

  private var items: Set<Item> = [.upkeep, .flush, .assets]
  /// Zones in which something could not be merged, because local rows came first and could not be signed.
  private(set) var blockedMerges: Set<ZoneID> = []
  private var lastMerge: ZoneID?
  private var hasMergeTurn = false

  func note(_ item: Item) { items.insert(item) }
  func finish(_ item: Item) { items.remove(item) }
  func contains(_ item: Item) -> Bool { items.contains(item) }

  /// Notes that the database may have changed.
  func noteDatabase() { items.formUnion([.upkeep, .flush, .assets]) }

  // MARK: Merges

  func noteMerges(_ zones: some Sequence<ZoneID>) { items.formUnion(zones.map(Item.merge)) }

  var hasMerges: Bool {
    items.contains { if case .merge = $0 { true } else { false } }
  }

  /// True if change sets of others come before further local writes.
  var areMergesNext: Bool { hasMergeTurn && hasMerges }

  /// Gives merges a turn after a unit of local writes. Without turns, a program that writes faster than its rows are
  /// flushed would block the changes of others.
  func beginMergeTurn() { hasMergeTurn = true }

  /// Ends the turn of merges. Returns true if it was their turn.
  @discardableResult
  func endMergeTurn() -> Bool {
    defer { hasMergeTurn = false }
    return hasMergeTurn
  }

  /// Chooses the next zone to merge. Zones take turns, so that a flooded zone blocks no other.
  func chooseMerge() -> ZoneID? {
    let zones = items.compactMap { if case .merge(let zone) = $0 { zone } else { nil } }
    let after = zones.filter { zone in lastMerge.map { $0 < zone } ?? true }
    guard let zone = after.min() ?? zones.min() else { return nil }
    lastMerge = zone
    return zone
  }

  /// Postpones a merge until local rows can be signed.
  func block(merge zone: ZoneID) {
    finish(.merge(zone))
    blockedMerges.insert(zone)
  }

  func unblock(merge zone: ZoneID) {
    blockedMerges.remove(zone)
    note(.merge(zone))
  }

  /// Forgets a zone that could not be stored.
  func forget(_ zone: ZoneID) {
    finish(.merge(zone))
    blockedMerges.remove(zone)
  }
}
