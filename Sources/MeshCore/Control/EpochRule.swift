/// The records that an epoch must have seen to encrypt, and the devices that may mint it.
///
/// A participant may flood the log with epochs. The rule usually stays the same between them, so results are kept.
struct EpochRule {
  /// The records by which the owner removed accounts. An epoch must have seen all of them.
  let removals: MarkSet
  /// Groups of leave records. An epoch must have seen at least one record of each group.
  let leavings: Set<MarkSet>
  let cuts: CountingCopies
  /// The records of cut devices that still count.
  let standing: [DeviceID: Set<ControlID>]
  /// The devices that minted an epoch, and whether they may.
  var minters: [DeviceID: Bool] = [:]
  /// The results so far, by the set of records that an epoch has seen.
  private var found: [MarkSet: Bool] = [:]

  /// The records that bring the cuts that count.
  struct CountingCopies: Equatable {
    /// The marks of records that are the only ones to bring a cut.
    var only = MarkSet()
    /// For each other cut, the marks of the records that bring it.
    var several: [MarkSet] = []

    func areSeen(_ seen: MarkSet) -> Bool { seen.isSuperset(of: only) && several.allSatisfy(seen.intersects) }
  }

  init(removals: MarkSet, leavings: Set<MarkSet>, cuts: CountingCopies, standing: [DeviceID: Set<ControlID>]) {
    (self.removals, self.leavings, self.cuts, self.standing) = (removals, leavings, cuts, standing)
  }

  /// Returns whether this rule judges all epochs that another rule judged in the same way.
  func judges(as other: EpochRule, _ graph: ControlGraph, _ state: ZoneState) -> Bool {
    removals == other.removals && leavings == other.leavings && cuts == other.cuts && standing == other.standing
      && other.minters.allSatisfy { Self.mayMint($0.key, graph.devices, graph.accounts, state) == $0.value }
  }

  mutating func mayMint(
    _ device: DeviceID, _ devices: [DeviceID: AccountID], _ accounts: Accounts, _ state: ZoneState
  ) -> Bool {
    if let known = minters[device] { return known }
    let mayMint = Self.mayMint(device, devices, accounts, state)
    minters[device] = mayMint
    return mayMint
  }

  private static func mayMint(
    _ device: DeviceID, _ devices: [DeviceID: AccountID], _ accounts: Accounts, _ state: ZoneState
  ) -> Bool {
    guard let account = devices[device] else { return false }
    return state.permission(account) == .readWrite && accounts[account]?.isExcluded(device) == false
  }

  /// Returns whether an epoch counts and has seen all records that it must see.
  ///
  /// - Parameter seen: The marked records that the epoch has seen.
  mutating func isSeen(_ epoch: ControlRecord, _ seen: MarkSet) -> Bool {
    if let standing = standing[epoch.author], !standing.contains(epoch.id) { return false }
    if let known = found[seen] { return known }
    let isSeen = seen.isSuperset(of: removals) && leavings.allSatisfy(seen.intersects) && cuts.areSeen(seen)
    found[seen] = isSeen
    return isSeen
  }
}
