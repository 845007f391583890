import MeshCore

/// Makes the manifests of BLOBs in rows while a flush is planned. A plan may be made again because a program wrote
/// meanwhile. A BLOB is then hashed again only if that program wrote to its record.
final class AssetHasher {
  private struct Place: Hashable {
    let ref: RecordRef
    let index: Int
  }

  private struct Known {
    let asset: Asset
    let manifest: AssetManifest
    /// The greatest id in the log at that time.
    let last: Int64
  }

  private var known: [Place: Known] = [:]
  /// The number of bytes that may be hashed, or nil if nobody waits for a lock.
  var budget: Int?

  init(budget: Int? = nil) { self.budget = budget }

  /// Returns the BLOB of this size that the record's row has in a column.
  ///
  /// - Parameter key: The key of the manifest, if there is none yet.
  /// - Throws: `PlanObstacle.hashing` if the size is over the budget.
  func content(
    _ ref: RecordRef, _ cell: RowCell, size: Int, key: [UInt8], _ transaction: Transaction
  ) throws -> (asset: Asset, manifest: AssetManifest)? {
    let place = Place(ref: ref, index: cell.index)
    if let found = known[place], found.asset.size == size, try !isWritten(ref, since: found.last, transaction) {
      return (found.asset, found.manifest)
    }
    if let left = budget {
      guard size <= left else { throw PlanObstacle.hashing }
      budget = left - size
    }
    let last = try transaction.pending.last()
    guard let manifest = try transaction.contents.manifest(of: cell, size: size, key: key) else { return nil }
    let asset = try manifest.asset(transaction.cryptography)
    known[place] = Known(asset: asset, manifest: manifest, last: last)
    return (asset, manifest)
  }

  private func isWritten(_ ref: RecordRef, since last: Int64, _ transaction: Transaction) throws -> Bool {
    guard let table = transaction.catalog.table(ref.table) else { return true }
    return try transaction.pending.keys(of: ref.table, after: last).contains { table.form.canonical($0) == ref.key }
  }
}
