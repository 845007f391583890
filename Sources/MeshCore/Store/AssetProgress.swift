/// An asset that rows here wait for.
public struct WantedAsset: Sendable, Hashable {
  public let asset: Asset
  /// The zones whose records use the asset. It can be requested in any of them.
  public let zones: [ZoneID]
  /// The chunks that are here already.
  public let staged: ChunkSet
  /// The reason why parts that the file has could not be kept, such as a lack of space.
  public let fault: String?

  public init(asset: Asset, zones: [ZoneID], staged: ChunkSet, fault: String? = nil) {
    self.asset = asset
    self.zones = zones
    self.staged = staged
    self.fault = fault
  }
}

/// The result of staging a chunk that arrived.
public enum ChunkOutcome: Sendable, Equatable {
  /// The chunk matches the manifest and is kept. `isComplete` is true if no other chunk is missing.
  case staged(isComplete: Bool)
  /// No row waits for the chunk, or it was here already.
  case notNeeded
  /// The chunk could not be kept, for instance because of a lack of space. The text is the reason. There may be room
  /// later.
  case noRoom(String)
  /// The bytes are not this chunk, so the sender lies.
  case wrong
}

/// Assets that rows wait for, as many as are downloaded at one time.
public struct WantedAssets: Sendable, Hashable {
  public var assets: [WantedAsset]
  /// True if there are no other wanted assets.
  public var isAll: Bool

  public init(_ assets: [WantedAsset], isAll: Bool) {
    self.assets = assets
    self.isAll = isAll
  }
}

/// The number and size of the assets that a zone's records name and a node doesn't have.
public struct AssetBacklog: Hashable, Sendable {
  public struct Amount: Hashable, Sendable {
    public var assets: Int
    /// The bytes of these assets that are not here.
    public var bytes: Int

    public init(assets: Int = 0, bytes: Int = 0) {
      self.assets = assets
      self.bytes = bytes
    }

    public static func += (left: inout Amount, right: Amount) {
      left.assets += right.assets
      left.bytes += right.bytes
    }
  }

  /// Assets that the node downloads and a connected device may have.
  public var coming: Amount
  /// The other assets. They are on demand, belong to held records, or no connected device has them.
  public var absent: Amount

  public init(coming: Amount = Amount(), absent: Amount = Amount()) {
    self.coming = coming
    self.absent = absent
  }

  /// The bound on amounts. It exceeds the storage of any node, and is small enough for sums.
  private static let most = 1 << 50

  public func write(to writer: inout ByteWriter) {
    for amount in [coming, absent] {
      writer.varint(min(amount.assets, Self.most))
      writer.varint(min(amount.bytes, Self.most))
    }
  }

  public init(from reader: inout ByteReader) throws(DecodingError) {
    coming = try Self.amount(&reader)
    absent = try Self.amount(&reader)
  }

  private static func amount(_ reader: inout ByteReader) throws(DecodingError) -> Amount {
    Amount(assets: try reader.count(most, "assets"), bytes: try reader.count(most, "bytes"))
  }
}
