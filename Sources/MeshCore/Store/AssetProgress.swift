/// An asset that rows here wait for.
public struct WantedAsset: Sendable, Hashable {
  public let asset: Asset
  /// The zones whose records use it, in which it can be asked for.
  public let zones: [ZoneID]
  /// The chunks that are here already.
  public let staged: ChunkSet
  /// Why what the file has of it could not be kept, as for want of space.
  public let fault: String?

  public init(asset: Asset, zones: [ZoneID], staged: ChunkSet, fault: String? = nil) {
    self.asset = asset
    self.zones = zones
    self.staged = staged
    self.fault = fault
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

/// Assets that rows wait for, as many as are fetched at one time.
public struct WantedAssets: Sendable, Hashable {
  public var assets: [WantedAsset]
  /// There are no others.
  public var isAll: Bool

  public init(_ assets: [WantedAsset], isAll: Bool) {
    self.assets = assets
    self.isAll = isAll
  }
}

/// What a node lacks of the assets that a zone's records name.
public struct AssetBacklog: Hashable, Sendable {
  public struct Amount: Hashable, Sendable {
    public var assets: Int
    /// Of them those that are not here.
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

  /// What it fetches, and somebody it is connected to may have.
  public var coming: Amount
  /// The others: fetched on demand only, of records that are held, or had by nobody it is connected to.
  public var absent: Amount

  public init(coming: Amount = Amount(), absent: Amount = Amount()) {
    self.coming = coming
    self.absent = absent
  }

  /// Of amounts: beyond what any node could store, and small enough to be added up.
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
