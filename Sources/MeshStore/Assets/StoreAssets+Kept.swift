import MeshCore

extension StoreAssets {
  /// Sets the number of bytes of overwritten BLOBs to keep. A smaller number takes effect at once.
  package func keepOverwritten(upTo bytes: Int) throws {
    let isLess = bytes < staged.budget
    staged.budget = bytes
    if isLess { try write { try $0.kept.trim() } }
  }

  /// Returns the bytes of overwritten BLOBs that are here.
  package func overwrittenBytes() throws -> Int {
    try read { try $0.assets.keptBytes() }
  }
}
