import MeshCore

/// SQL that finds the records that use assets.
extension Session {
  /// Joins the asset as `a`, the table as `t` and the record as `r`.
  static let uses = """
    mesh_asset_use u JOIN mesh_asset a ON a.name = u.asset JOIN mesh_table t ON t.id = u.tbl
    JOIN mesh_record r ON r.tbl = u.tbl AND r.key = u.key AND r.zone = u.zone
    """

  /// A condition for `uses`: the record is shown, or would be checked again once it has its assets.
  static let showable =
    "(r.held IS NULL OR r.held IN (\(HeldReason.assetIncomplete.rawValue), \(HeldReason.constraint.rawValue)))"

  /// A condition for `uses`: the record wants its asset downloaded. A row that can't be shown without it doesn't wait
  /// for a request.
  static let fetched = """
    (\(showable) AND (r.held IS \(HeldReason.assetIncomplete.rawValue) OR coalesce(a.choice, 1 - t.on_demand) = 1))
    """

  /// Returns whether some record wants the asset downloaded.
  func isFetched(_ asset: AssetID) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM \(Self.uses) WHERE u.asset = ? AND u.shown = 0 AND \(Self.fetched)", [.blob(asset.bytes)])
  }

  /// A record that waits for an asset in a column.
  struct AssetWant {
    let ref: RecordRef
    let zone: Int64
    let column: Int64
  }

  /// Returns the records that wait for an asset.
  ///
  /// - Parameter onlyShowable: True for only those that are shown, or would be checked again with it.
  func wants(_ asset: AssetID, onlyShowable: Bool = false) throws -> [AssetWant] {
    try sql.all(
      """
      SELECT u.tbl, u.key, u.zone, u.col FROM \(Self.uses)
      WHERE u.asset = ?1 AND u.shown = 0 AND (?2 = 0 OR \(Self.showable))
      """, [.blob(asset.bytes), .integer(onlyShowable ? 1 : 0)]
    ) { AssetWant(ref: RecordRef(table: $0.integer(0), key: $0.value(1)), zone: $0.integer(2), column: $0.integer(3)) }
  }

  func zones(using asset: AssetID) throws -> [ZoneID] {
    try sql.all(
      """
      SELECT DISTINCT z.zone FROM mesh_asset_use u JOIN mesh_zone z ON z.id = u.zone WHERE u.asset = ? ORDER BY z.zone
      """, [.blob(asset.bytes)]
    ) { ZoneID($0.bytes(0)) }.compactMap(\.self)
  }

  func isUsed(_ asset: AssetID, in zone: ZoneID) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM mesh_asset_use u JOIN mesh_zone z ON z.id = u.zone WHERE u.asset = ? AND z.zone = ?",
      [.blob(asset.bytes), .blob(zone.bytes)])
  }

  /// Returns the cells that show an asset, as far as mesh knows.
  func cells(showing asset: AssetID) throws -> [Cell] {
    try sql.all(
      "SELECT tbl, key, col FROM mesh_asset_use WHERE asset = ? AND shown = 1 LIMIT 8", [.blob(asset.bytes)]
    ) { row -> Cell? in
      guard let table = catalog.table(row.integer(0)), let index = table.indexes[row.integer(2)] else { return nil }
      return Cell(table: table, key: row.value(1), index: index)
    }.compactMap(\.self)
  }
}
