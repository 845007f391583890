import MeshCore

/// Computes which changes of this device a share may lack that has ended for its account.
struct UnsentChanges: Part {
  let context: Context

  /// Returns the numbers above which this device's authors may not have reached the share: the vector that a device of
  /// the owner has acknowledged. Another participant may be removed before it passes on what it has.
  ///
  /// If the account was removed, the removal says where its authors end. But another device of the owner may reject a
  /// write that the removal accepts, and this device no longer hears of it. So its authors end at the vector that all
  /// devices of the owner have acknowledged, as far as this device has met them.
  func limits(_ id: ZoneID) throws -> [Author: UInt64] {
    guard let state = zones[id]?.state, state.root != nil, state.owner != nil else { return [:] }
    let taken = try store.control.acknowledgements(id).compactMap { device, bytes -> VersionVector? in
      guard let owner = state.owner, owner != account.id, state.account(of: device) == owner,
        accounts[owner]?.isExcluded(device) != true
      else { return nil }
      var reader = ByteReader(bytes)
      return try? Acknowledgement(from: &reader).merged
    }
    let isRemoved = state.participants[account.id]?.status == .removed
    // If this device has met only one, that is usually the one that removed the account.
    if isRemoved, taken.count < 2 { return [:] }
    let own = try store.log.mergedVector(id).authors.filter { $0.device == device }
    return Dictionary(
      own.map { author in
        let numbers = taken.map { $0[author] }
        return (author, (isRemoved ? numbers.min() : numbers.max()) ?? 0)
      }, uniquingKeysWith: { first, _ in first })
  }
}
