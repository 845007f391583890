public import MeshCore

/// A merged value that is an asset, and what of it is here.
public struct AssetPlace: Hashable, Sendable {
  public var asset: Asset
  public var zone: ZoneID
  public var table: String
  public var key: Value
  public var column: String
  /// The row has it.
  public var isShown: Bool
  /// Bytes of it that are here.
  public var here: Int
  /// Why the record is not in its table, if so: those that are held for another reason than their BLOBs are not fetched.
  public var held: HeldReason?
  /// Its record has it fetched.
  public var isFetched: Bool
  /// Why its row could not show it if it were here; nil where it could.
  public var obstacle: String?
  /// What was said of this very asset: that it is fetched, or not.
  public var choice: Bool?
  /// The table's policy.
  public var policy: AssetPolicy
  /// Who wrote it into the record.
  public var writer: DeviceID?
  /// Of those who had something of it and left while it was incomplete here, the last, and when that was in milliseconds since 1970.
  public var lastSource: Source?

  public struct Source: Hashable, Sendable {
    public var device: DeviceID
    public var time: Int64
  }
}

/// Why there is no asset where one was looked for.
public enum AssetLack: Hashable, Sendable {
  case unknownRecord
  /// The table has these.
  case unknownColumn([String])
  /// What programs wrote to the record is not flushed yet.
  case pending
  /// The record is not sent, since a value is too long; in words.
  case tooLong(String)
  /// It has something else, or a BLOB that travels in its row.
  case short
}

/// An asset that rows wait for, and that is fetched.
public struct FetchedAsset: Hashable, Sendable {
  public var asset: Asset
  /// Bytes of it that are known to be here.
  public var here: Int
  /// Why no row could show it if it were here; nil where one could.
  public var obstacle: String?
}

extension Store {
  /// All that is fetched and not in its rows.
  public func fetchedAssets() throws -> [FetchedAsset] {
    try read { session in
      var found: [AssetID: FetchedAsset] = [:]
      for lack in try session.assetsLacking() where lack.isFetched {
        let obstacle = session.obstacle(lack.asset.size, table: lack.table, column: lack.column)
        if obstacle != nil, found[lack.asset.id] != nil { continue }
        found[lack.asset.id] = FetchedAsset(
          asset: lack.asset, here: min(lack.asset.size, session.staged.present(lack.asset.id) * Limits.chunk),
          obstacle: obstacle)
      }
      return found.values.sorted { ($0.asset.size, $0.asset.id) < ($1.asset.size, $1.asset.id) }
    }
  }

  /// What rows wait for, by size, the shortest first: so they are fetched.
  ///
  /// - Parameter table: Nil for all.
  public func awaitedAssets(table name: String? = nil, limit: Int) throws -> [AssetPlace] {
    try read { session in
      guard let name else { return try session.assetPlaces("u.shown = 0", [], limit: limit) }
      guard let table = session.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      return try session.assetPlaces("u.shown = 0 AND u.tbl = ?", [.integer(table)], limit: limit)
    }
  }

  /// The assets of a record, in all zones that have it.
  ///
  /// - Parameters:
  ///   - key: As it is spelled in the row, or canonical.
  ///   - column: Nil for all.
  public func assets(table name: String, key: Value, column: String?) throws -> [AssetPlace] {
    try read { session in
      guard let table = session.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      let canonical = session.catalog.table(table)?.form.canonical(key) ?? key
      let found = try session.assetPlaces(
        "u.tbl = ? AND u.key = ? AND u.shown < 2", [.integer(table), canonical], limit: .max)
      return found.filter { place in column.map { $0.folded == place.column.folded } ?? true }
    }
  }

  /// Why a record has no asset.
  ///
  /// - Parameters:
  ///   - keys: What its key may be.
  ///   - column: In which it was looked for; nil for all.
  public func assetLack(table name: String, keys: [Value], column: String?) throws -> AssetLack {
    try read { session in
      guard let number = session.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      let table = session.catalog.table(number)
      if let column, let table, table.isHere, table.schema.column(column) == nil {
        return .unknownColumn(table.schema.columns.map(\.name))
      }
      var isKnown = false
      for key in keys {
        let arguments = [.integer(number), table?.form.canonical(key) ?? key]
        let message = try session.sql.first(
          "SELECT message FROM mesh_held WHERE tbl = ? AND key = ? AND reason = \(HeldReason.valueTooLong.rawValue)",
          arguments
        ) { $0.text(0) }
        if let message { return .tooLong(message) }
        let collation = (table?.form.collation ?? .binary).sql
        let isPending = try session.sql.exists(
          "SELECT 1 FROM mesh_pending WHERE tbl = ? AND key = ? COLLATE \(collation)", arguments)
        if isPending { return .pending }
        if try session.sql.exists(
          "SELECT 1 FROM mesh_record WHERE tbl = ? AND key = ? AND generation & 1", arguments)
        {
          isKnown = true
        }
      }
      return isKnown ? .short : .unknownRecord
    }
  }

  static func unknownTable(_ name: String) -> StoreError {
    StoreError(.unknownTable, "no synchronized table is called \(name); mesh status lists them")
  }

  /// Who had something of assets, and left.
  public func noteSources(_ sources: [AssetID: DeviceID], now: Int64) throws {
    try write(isDurable: false) { session in
      for (asset, device) in sources {
        try session.sql.run(
          "UPDATE mesh_asset SET source = ?, source_time = ? WHERE name = ?",
          [.blob(device.bytes), .integer(now), .blob(asset.bytes)])
      }
    }
  }
}

extension Session {
  fileprivate func assetPlaces(_ condition: String, _ arguments: [Value], limit: Int) throws -> [AssetPlace] {
    try sql.all(
      """
      SELECT u.asset, a.size, z.zone, u.tbl, u.key, u.col, u.shown, r.held, \(Self.fetched), a.choice, t.on_demand,
        d.device, a.source, a.source_time
      FROM \(Self.uses) JOIN mesh_zone z ON z.id = u.zone LEFT JOIN mesh_author d ON d.id = u.author
      WHERE \(condition) ORDER BY a.size, u.asset, u.tbl, u.key, u.col LIMIT ?
      """, arguments + [.count(limit)], place
    ).compactMap(\.self).map { try $0.complete(self) }
  }

  /// A row of the query, whose names are still numbers.
  private struct Found {
    var place: AssetPlace
    let table: Int64
    let column: Int64

    func complete(_ session: Session) throws -> AssetPlace {
      var place = place
      place.table = try session.catalog.tableName(table)
      place.column = try session.catalog.column(column).name
      if place.held == nil || place.held == .assetIncomplete {
        place.obstacle = session.obstacle(place.asset.size, table: table, column: column)
      }
      if place.isShown {
        place.here = place.asset.size
      } else if let manifest = try session.manifest(place.asset.id) {
        place.here = min(place.asset.size, try session.staged.here(place.asset, manifest).present * Limits.chunk)
      }
      return place
    }
  }

  private func place(_ row: Statement) -> Found? {
    guard let id = AssetID(row.bytes(0)), let zone = ZoneID(row.bytes(2)) else { return nil }
    let source = row.optionalBytes(12).flatMap(DeviceID.init)
    return Found(
      place: AssetPlace(
        asset: Asset(id: id, size: Int(row.integer(1))), zone: zone, table: "", key: row.value(4), column: "",
        isShown: row.integer(6) == 1, here: 0, held: row.optional(7).flatMap(HeldReason.init),
        isFetched: row.integer(8) == 1, obstacle: nil, choice: row.optional(9).map { $0 == 1 },
        policy: row.integer(10) == 1 ? .onDemand : .always, writer: row.optionalBytes(11).flatMap(DeviceID.init),
        lastSource: source.map { AssetPlace.Source(device: $0, time: row.optional(13) ?? 0) }),
      table: row.integer(3), column: row.integer(5))
  }
}
