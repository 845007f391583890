public import MeshCore

/// A BLOB that a row waits for.
public struct AwaitedAsset: Hashable, Sendable {
  public var asset: Asset
  /// Bytes of it that are here.
  public var here: Int
  public var zone: ZoneID
  public var table: String
  public var key: Value
  public var column: String
  /// Why the record is not in its table, if so: those that are held for another reason than their BLOBs are not fetched.
  public var held: HeldReason?
}

extension Store {
  /// By size, the shortest first: so they are fetched.
  public func awaitedAssets(limit: Int) throws -> [AwaitedAsset] {
    try read { session in
      let rows = try session.sql.all(
        """
        SELECT a.name, u.zone, u.tbl, u.key, u.col, r.held FROM mesh_asset_use u
        JOIN mesh_asset a ON a.name = u.asset
        JOIN mesh_record r ON r.tbl = u.tbl AND r.key = u.key AND r.zone = u.zone
        WHERE u.shown = 0 ORDER BY a.size, a.name, u.tbl, u.key LIMIT ?
        """, [.count(limit)]
      ) {
        (
          id: AssetID($0.bytes(0)), zone: $0.integer(1), table: $0.integer(2), key: $0.value(3), column: $0.integer(4),
          held: $0.optional(5).flatMap(HeldReason.init)
        )
      }
      return try rows.compactMap { row in
        guard let manifest = try row.id.flatMap(session.manifest),
          let zone = try ZoneRow.read(id: row.zone, session.sql)
        else { return nil }
        let asset = try manifest.asset(cryptography)
        return AwaitedAsset(
          asset: asset, here: min(asset.size, try staged.chunks(asset, manifest).present * Limits.chunk),
          zone: zone.zone,
          table: try session.catalog.tableName(row.table), key: row.key,
          column: try session.catalog.column(row.column).name, held: row.held)
      }
    }
  }
}
