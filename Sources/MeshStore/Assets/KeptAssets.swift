import MeshCore

/// The bytes of BLOBs that others have overwritten or deleted, kept so that a person can restore them. They are in the
/// staging, up to a budget, and a table names them. The oldest are deleted first.
///
/// These BLOBs are kept:
/// - every BLOB that lost in a conflict;
/// - every BLOB of at most 64 MiB that a merge removes from a row. A longer one would make programs wait for the lock.
///   A BLOB that is changed in place is not kept, because all of it would be copied for a few bytes.
struct KeptAssets: InTransaction {
  let transaction: Transaction

  /// Keeps the bytes of a BLOB that a row loses, if they are in that row, in another one, or in the staging. Call it
  /// before the row changes.
  ///
  /// - Parameter isConflict: True if the BLOB lost without having been seen. Then its copy survives a power cut. For
  ///   others, a sync is not worth the time while programs wait for the lock, so a power cut may lose the newest.
  func keep(_ asset: Asset, _ ref: RecordRef, _ column: Int64, isConflict: Bool) throws {
    let limit = isConflict ? staged.budget : min(staged.budget, StoreLimits.assetInMemory)
    guard !asset.isUnread, asset.size <= limit, try !assets.isKept(asset.id),
      let manifest = try contents.manifest(asset.id)
    else {
      return
    }
    var cells = try contents.cells(showing: asset.id)
    if let table = catalog.table(ref.table), table.isHere, let index = table.indexes[column] {
      cells.insert(RowCell(table: table, key: ref.key, index: index), at: 0)
    }
    // A BLOB that nobody has seen may be the only copy, so it is copied even if the disk is short of room.
    guard isConflict || staged.hasRoom(asset.size), try copyOverwritten(asset, manifest, from: cells) else { return }
    try staged.settle(asset.id)
    if isConflict { try staged.sync(asset) }
    try assets.keep(asset)
    if try assets.wants(asset.id).isEmpty { staged.rest(asset.id) }
    staged.keptSinceTrim += asset.size
    // Counting all of them for each new one would take quadratic time.
    if staged.keptSinceTrim > staged.budget / 8 { try trim() }
  }

  /// Does the same for all BLOBs that a row shows.
  func keep(_ shown: [Int64: Value], _ ref: RecordRef) throws {
    for (column, value) in shown {
      guard let asset = value.asset else { continue }
      try keep(asset, ref, column, isConflict: false)
    }
  }

  /// Copies a BLOB to the staging without the write lock, before others replace it.
  func prepare(_ asset: Asset, _ cell: RowCell) throws {
    guard asset.size <= min(StoreLimits.assetInMemory, staged.budget), staged.hasRoom(asset.size),
      try !assets.isKept(asset.id), let manifest = try contents.manifest(asset.id)
    else { return }
    _ = try copyOverwritten(asset, manifest, from: [cell])
  }

  /// - Returns: False if no cell has all of it.
  private func copyOverwritten(_ asset: Asset, _ manifest: AssetManifest, from cells: [RowCell]) throws -> Bool {
    if try staged.isComplete(asset, manifest) { return true }
    for cell in cells {
      try contents.keep(asset, manifest, from: cell, isSynced: false)
      if try staged.isComplete(asset, manifest) { return true }
    }
    return false
  }

  /// Deletes the oldest BLOBs beyond the budget.
  func trim() throws {
    staged.keptSinceTrim = 0
    let gone = try assets.trimKept(to: staged.budget)
    if !gone.isEmpty { try AssetPlacing(transaction: transaction).sweepStaging(gone) }
  }

  /// Forgets kept BLOBs that were lost in a power cut before they were on the disk.
  func forget(besides there: Set<AssetID>) throws {
    for asset in try assets.kept() where !there.contains(asset) { try assets.forgetKept(asset) }
  }

  /// Forgets the kept BLOBs of a zone that this device is no longer a member of. Their manifests have the zone's key.
  func forget(of zone: ZoneID) throws {
    let key = AssetManifest.key(of: zone, cryptography)
    let gone = try assets.kept().filter { try contents.manifest($0)?.key == key }
    for asset in gone { try assets.forgetKept(asset) }
    try AssetPlacing(transaction: transaction).sweepStaging(gone)
  }
}

extension Transaction {
  var kept: KeptAssets { KeptAssets(transaction: self) }
}
