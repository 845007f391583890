/// What an epoch must have seen to encrypt, and who may mint it. Epochs are many if a participant floods the log, and the rule
/// mostly stays the same.
struct EpochRule {
  /// Words by which the owner put somebody out.
  let removals: MarkSet
  /// Leaves of which one each is enough.
  let leavings: Set<MarkSet>
  let cuts: CountingCopies
  /// Records of cut devices that still count.
  let standing: [DeviceID: Set<ControlID>]
  /// Devices that minted.
  var minters: [DeviceID: Minter] = [:]
  /// What was found of epochs that have seen the same.
  private var found: [MarkSet: Bool] = [:]

  enum Minter { case mayMint, mayNotMint, isOfNobody }

  /// The records that bring the cuts that count.
  struct CountingCopies: Equatable {
    /// Those that alone bring one.
    var only = MarkSet()
    /// The others by what they bring.
    var several: [MarkSet] = []

    func areSeen(_ seen: MarkSet) -> Bool { seen.isSuperset(of: only) && several.allSatisfy(seen.intersects) }
  }

  init(removals: MarkSet, leavings: Set<MarkSet>, cuts: CountingCopies, standing: [DeviceID: Set<ControlID>]) {
    (self.removals, self.leavings, self.cuts, self.standing) = (removals, leavings, cuts, standing)
  }

  /// Whether it says of all epochs that were judged by another rule what that one said.
  func judges(as other: EpochRule, _ graph: ControlGraph, _ state: ZoneState) -> Bool {
    removals == other.removals && leavings == other.leavings && cuts == other.cuts && standing == other.standing
      && other.minters.allSatisfy { Self.minter($0.key, graph.devices, graph.accounts, state) == $0.value }
  }

  mutating func minter(
    _ device: DeviceID, _ devices: [DeviceID: AccountID], _ accounts: Accounts, _ state: ZoneState
  ) -> Minter {
    if let known = minters[device] { return known }
    let minter = Self.minter(device, devices, accounts, state)
    minters[device] = minter
    return minter
  }

  private static func minter(
    _ device: DeviceID, _ devices: [DeviceID: AccountID], _ accounts: Accounts, _ state: ZoneState
  ) -> Minter {
    guard let account = devices[device] else { return .isOfNobody }
    let mayMint = state.permission(account) == .readWrite && accounts[account]?.isRevoked(device) == false
    return mayMint ? .mayMint : .mayNotMint
  }

  /// Whether an epoch counts that has seen some marked records, and has seen all that it must.
  mutating func isSeen(_ epoch: ControlRecord, _ seen: MarkSet) -> Bool {
    if let standing = standing[epoch.author], !standing.contains(epoch.id) { return false }
    if let known = found[seen] { return known }
    let isSeen = seen.isSuperset(of: removals) && leavings.allSatisfy(seen.intersects) && cuts.areSeen(seen)
    found[seen] = isSeen
    return isSeen
  }
}
