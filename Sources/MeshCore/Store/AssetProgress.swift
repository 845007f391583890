/// An asset that rows here wait for.
package struct WantedAsset: Sendable, Hashable {
  /// The id and the size of the whole asset.
  package let asset: Asset
  /// The zones whose records use the asset. It can be requested in any of them.
  package let zones: [ZoneID]
  /// The chunks that are here already.
  package let staged: ChunkSet
  /// The reason why parts that the file has could not be kept, such as a lack of space.
  package let fault: String?

  package init(asset: Asset, zones: [ZoneID], staged: ChunkSet, fault: String? = nil) {
    self.asset = asset
    self.zones = zones
    self.staged = staged
    self.fault = fault
  }
}

/// The result of staging a chunk that arrived.
package enum ChunkOutcome: Sendable, Equatable {
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
package struct WantedAssets: Sendable, Hashable {
  /// The assets, each with its zones and the chunks that are here.
  package var assets: [WantedAsset]
  /// True if there are no other wanted assets.
  package var isAll: Bool

  package init(_ assets: [WantedAsset], isAll: Bool) {
    self.assets = assets
    self.isAll = isAll
  }
}

/// The number and size of the assets that a zone's records name and a node doesn't have.
package struct AssetBacklog: Hashable, Sendable {
  /// A number of assets, and the bytes of them that are missing.
  package struct Amount: Hashable, Sendable {
    /// The number of assets.
    package var assets: Int
    /// The bytes of these assets that are not here.
    package var bytes: Int

    package init(assets: Int = 0, bytes: Int = 0) {
      self.assets = assets
      self.bytes = bytes
    }

    /// Adds the numbers and the bytes of another amount.
    package static func += (left: inout Amount, right: Amount) {
      left.assets += right.assets
      left.bytes += right.bytes
    }
  }

  /// Assets that the node downloads and a connected device may have.
  package var coming: Amount
  /// The other assets. They are on demand, belong to held records, or no connected device has them.
  package var absent: Amount

  package init(coming: Amount = Amount(), absent: Amount = Amount()) {
    self.coming = coming
    self.absent = absent
  }

  /// The bound on amounts. It exceeds the storage of any node, and is small enough for sums.
  private static let most = 1 << 50

  /// Writes four varints: assets and bytes of `coming`, then of `absent`. Each is at most 2⁵⁰.
  package func write(to writer: inout ByteWriter) {
    for amount in [coming, absent] {
      writer.varint(min(amount.assets, Self.most))
      writer.varint(min(amount.bytes, Self.most))
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    coming = try Self.amount(&reader)
    absent = try Self.amount(&reader)
  }

  private static func amount(_ reader: inout ByteReader) throws(FormatError) -> Amount {
    Amount(assets: try reader.count(most, "assets"), bytes: try reader.count(most, "bytes"))
  }
}
