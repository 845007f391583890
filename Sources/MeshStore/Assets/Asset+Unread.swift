import MeshCore

extension Asset {
  /// Returns an asset that stands for a BLOB of this size in a row, whose bytes were not read.
  static func unread(_ size: Int) -> Asset { Asset(id: AssetID.zero, size: size) }
  var isUnread: Bool { id == .zero }
}

extension Value {
  /// Whether the value is a long BLOB that was not read.
  var isUnread: Bool { if case .asset(let asset) = self { asset.isUnread } else { false } }
  var asset: Asset? { if case .asset(let asset) = self { asset } else { nil } }
}
