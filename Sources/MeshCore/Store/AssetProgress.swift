/// An asset that rows here wait for.
public struct WantedAsset: Sendable, Hashable {
  public let asset: Asset
  /// The zones whose records use it, in which it can be asked for.
  public let zones: [ZoneID]
  /// The chunks that are here already.
  public let staged: ChunkSet

  public init(asset: Asset, zones: [ZoneID], staged: ChunkSet) {
    self.asset = asset
    self.zones = zones
    self.staged = staged
  }
}

/// What became of a chunk that came.
public enum ChunkOutcome: Sendable, Equatable {
  /// It is what the manifest says, and kept; `isComplete` where no other is missing.
  case staged(isComplete: Bool)
  /// No row waits for it, or it was here already.
  case notNeeded
  /// It could not be kept, as for want of space: the reason. Later there may be room.
  case noRoom(String)
  /// It is another chunk's bytes, or nobody's: its sender lies.
  case wrong
}
