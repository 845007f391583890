import MeshCore

/// The assets that records have or had (`mesh_asset`), the cells that have them (`mesh_asset_use`), and the overwritten
/// ones whose bytes are kept (`mesh_kept`).
struct AssetTable {
  let sql: Connection

  // MARK: Manifests

  /// Saves a manifest. A known one stays.
  func insert(_ asset: Asset, _ manifest: AssetManifest) throws {
    try sql.run(
      "INSERT OR IGNORE INTO mesh_asset (name, size, manifest) VALUES (?, ?, ?)",
      [.blob(asset.id.bytes), .count(asset.size), .blob(manifest.encoded)])
  }

  /// Returns the manifest, or nil if the asset was never met.
  func manifest(_ asset: AssetID) throws -> AssetManifest? {
    try sql.first("SELECT manifest FROM mesh_asset WHERE name = ?", [.blob(asset.bytes)]) { row in
      var reader = ByteReader(row.bytes(0))
      return try AssetManifest(from: &reader)
    }
  }

  func choose(_ asset: AssetID, isFetched: Bool) throws {
    try sql.run("UPDATE mesh_asset SET choice = ? WHERE name = ?", [.integer(isFetched ? 1 : 0), .blob(asset.bytes)])
  }

  /// Chooses to download all assets that rows of a table wait for.
  func fetchAll(of table: Int64) throws {
    try sql.run(
      "UPDATE mesh_asset SET choice = 1 WHERE name IN (SELECT asset FROM mesh_asset_use WHERE tbl = ? AND shown = 0)",
      [.integer(table)])
  }

  /// Notes the last device that had chunks of the asset and disconnected.
  func note(source: DeviceID, of asset: AssetID, now: Int64) throws {
    try sql.run(
      "UPDATE mesh_asset SET source = ?, source_time = ? WHERE name = ?",
      [.blob(source.bytes), .integer(now), .blob(asset.bytes)])
  }

  /// Removes the manifests of assets that no record has and that are not kept. An asset that a row still shows in place
  /// of another one stays known, so that programs' writes can be distinguished from it.
  func removeUnused() throws {
    var unused = Set(
      try sql.all(
        """
        SELECT name FROM mesh_asset WHERE NOT EXISTS (SELECT 1 FROM mesh_asset_use WHERE asset = mesh_asset.name)
          AND NOT EXISTS (SELECT 1 FROM mesh_kept WHERE asset = mesh_asset.name)
        """
      ) { $0.bytes(0) })
    guard !unused.isEmpty else { return }
    _ = try sql.all("SELECT DISTINCT r.tbl, r.key, r.zone, r.extra FROM \(Self.uses) WHERE u.shown = 0") { row in
      for value in try ExtraValues.decodeShown(row.bytes(3)) {
        if let asset = value.asset { unused.remove(asset.id.bytes) }
      }
    }
    for name in unused { try sql.run("DELETE FROM mesh_asset WHERE name = ?", [.blob(name)]) }
  }

  // MARK: Uses

  /// Joins the asset as `a`, the table as `t` and the record as `r`.
  private static let uses = """
    mesh_asset_use u JOIN mesh_asset a ON a.name = u.asset JOIN mesh_table t ON t.id = u.tbl
    JOIN mesh_record r ON r.tbl = u.tbl AND r.key = u.key AND r.zone = u.zone
    """

  /// A condition for `uses`: the record is shown, or would be checked again once it has its assets.
  private static let showable =
    "(r.held IS NULL OR r.held IN (\(HeldReason.assetIncomplete.rawValue), \(HeldReason.constraint.rawValue)))"

  /// A condition for `uses`: the record wants its asset downloaded. A row that can't be shown without it doesn't wait
  /// for a request.
  private static let fetched = """
    (\(showable) AND (r.held IS \(HeldReason.assetIncomplete.rawValue) OR coalesce(a.choice, 1 - t.on_demand) = 1))
    """

  /// Returns whether some record wants the asset downloaded.
  func isFetched(_ asset: AssetID) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM \(Self.uses) WHERE u.asset = ? AND u.shown = 0 AND \(Self.fetched)", [.blob(asset.bytes)])
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
    ) { AssetWant(ref: $0.ref(0), zone: $0.integer(2), column: $0.integer(3)) }
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

  /// Returns at most `limit` cells that show an asset, as far as mesh knows.
  func shown(_ asset: AssetID, limit: Int) throws -> [AssetWant] {
    try sql.all(
      "SELECT tbl, key, zone, col FROM mesh_asset_use WHERE asset = ? AND shown = 1 LIMIT ?",
      [.blob(asset.bytes), .count(limit)]
    ) { AssetWant(ref: $0.ref(0), zone: $0.integer(2), column: $0.integer(3)) }
  }

  func isShown(_ asset: AssetID, _ use: AssetWant) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM mesh_asset_use WHERE tbl = ? AND key = ? AND zone = ? AND col = ? AND asset = ? AND shown = 1",
      use.ref.place(in: use.zone) + [.integer(use.column), .blob(asset.bytes)])
  }

  /// Returns the columns with assets that are not in their rows.
  func missingColumns() throws -> [(table: Int64, column: Int64)] {
    try sql.all("SELECT DISTINCT tbl, col FROM mesh_asset_use WHERE shown = 0") { ($0.integer(0), $0.integer(1)) }
  }

  /// Returns the assets that records wait for and that would make them shown, with the devices that wrote them. The
  /// first of each device come first. For one device, the shortest come first, because most are downloaded quickly.
  func inWant(limit: Int) throws -> [(asset: Asset, device: [UInt8])] {
    try sql.all(
      """
      SELECT asset, size, device FROM (
        SELECT u.asset, a.size, d.device, row_number() OVER (PARTITION BY d.device ORDER BY a.size, u.asset) AS turn
        FROM \(Self.uses) LEFT JOIN mesh_author d ON d.id = u.author
        WHERE u.shown = 0 AND \(Self.fetched) GROUP BY u.asset, d.device)
      ORDER BY turn, size, asset LIMIT ?
      """, [.count(limit)]
    ) { row in AssetID(row.bytes(0)).map { (Asset(id: $0, size: Int(row.integer(1))), row.optionalBytes(2) ?? []) } }
    .compactMap(\.self)
  }

  /// A record that doesn't have the bytes of a merged asset.
  struct Lack {
    let asset: Asset
    let table: Int64
    let column: Int64
    let isFetched: Bool
  }

  /// Returns the records that lack bytes of assets.
  ///
  /// - Parameter zone: The zone, or nil for all zones.
  func lacking(in zone: ZoneID?) throws -> [Lack] {
    try sql.all(
      """
      SELECT u.asset, a.size, u.tbl, u.col, \(Self.fetched) FROM \(Self.uses)
      WHERE u.shown = 0 AND (?1 IS NULL OR u.zone = (SELECT id FROM mesh_zone WHERE zone = ?1))
      """, [zone.map { .blob($0.bytes) } ?? .null]
    ) { row in
      AssetID(row.bytes(0)).map {
        Lack(
          asset: Asset(id: $0, size: Int(row.integer(1))), table: row.integer(2), column: row.integer(3),
          isFetched: row.integer(4) == 1)
      }
    }.compactMap(\.self)
  }

  /// A cell with an asset, whose table and column are still numbers.
  struct Found {
    let place: AssetPlace
    let table: Int64
    let column: Int64
  }

  /// The cells to list.
  enum Places {
    /// Those that wait for their assets, in one table or in all.
    case awaited(table: Int64?)
    /// Those of a record, in all zones.
    case record(RecordRef)
  }

  /// Returns cells with assets, those with the shortest first.
  func list(_ places: Places, limit: Int) throws -> [Found] {
    let (condition, arguments): (String, [Value]) =
      switch places {
      case .awaited(nil): ("u.shown = 0", [])
      case .awaited(let table?): ("u.shown = 0 AND u.tbl = ?", [.integer(table)])
      case .record(let ref): ("u.tbl = ? AND u.key = ? AND u.shown < 2", ref.place)
      }
    return try sql.all(
      """
      SELECT u.asset, a.size, z.zone, u.tbl, u.key, u.col, u.shown, r.held, \(Self.fetched), a.choice, t.on_demand,
        d.device, a.source, a.source_time
      FROM \(Self.uses) JOIN mesh_zone z ON z.id = u.zone LEFT JOIN mesh_author d ON d.id = u.author
      WHERE \(condition) ORDER BY a.size, u.asset, u.tbl, u.key, u.col LIMIT ?
      """, arguments + [.count(limit)], found
    ).compactMap(\.self)
  }

  private func found(_ row: PreparedStatement) -> Found? {
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

  /// Replaces the uses of a record.
  ///
  /// - Parameters:
  ///   - isFormer: Whether a use is under a column's former name. Nothing waits for its bytes.
  ///   - isUndelivered: Whether a new use is of a BLOB that others may not have. A use that stays keeps its mark.
  func replaceUses(
    of ref: RecordRef, in zone: Int64, _ uses: Set<StoredRecord.AssetUse>, isFormer: (StoredRecord.AssetUse) -> Bool,
    isUndelivered: (StoredRecord.AssetUse) throws -> Bool
  ) throws {
    let place = ref.place(in: zone)
    let marks = Dictionary(
      try sql.all("SELECT col, asset, undelivered FROM mesh_asset_use WHERE tbl = ? AND key = ? AND zone = ?", place) {
        ($0.integer(0), (asset: $0.bytes(1), isSet: $0.integer(2) == 1))
      }, uniquingKeysWith: { first, _ in first })
    try sql.run("DELETE FROM mesh_asset_use WHERE tbl = ? AND key = ? AND zone = ?", place)
    for use in uses {
      let mark = try marks[use.column].flatMap { $0.asset == use.asset.bytes ? $0.isSet : nil } ?? isUndelivered(use)
      try sql.run(
        """
        INSERT INTO mesh_asset_use (tbl, key, zone, col, asset, shown, author, undelivered) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        place + [
          .integer(use.column), .blob(use.asset.bytes), .integer(isFormer(use) ? 2 : use.isShown ? 1 : 0),
          .integer(use.author), .integer(mark ? 1 : 0),
        ])
    }
  }

  /// Returns the BLOBs of a zone's records that this account wrote and that no device of the zone's owner is known to have.
  func undelivered(in zone: Int64, limit: Int) throws -> [Asset] {
    try sql.all(
      """
      SELECT name, size FROM mesh_asset
      WHERE name IN (SELECT asset FROM mesh_asset_use WHERE zone = ? AND undelivered = 1 AND shown <> 2)
      ORDER BY name LIMIT ?
      """, [.integer(zone), .count(limit)]
    ) { row in AssetID(row.bytes(0)).map { Asset(id: $0, size: Int(row.integer(1))) } }.compactMap(\.self)
  }

  /// Returns the columns of a record with such BLOBs, and whether its row shows each of them.
  func undeliveredColumns(of ref: RecordRef, in zone: Int64) throws -> [Int64: Bool] {
    let columns = try sql.all(
      """
      SELECT col, shown FROM mesh_asset_use WHERE tbl = ? AND key = ? AND zone = ? AND undelivered = 1 AND shown <> 2
      """, ref.place(in: zone)
    ) { ($0.integer(0), $0.integer(1) == 1) }
    return Dictionary(columns, uniquingKeysWith: { first, _ in first })
  }

  /// Notes that a device of the zone's owner has a BLOB.
  func noteDelivered(_ asset: AssetID, in zone: Int64) throws {
    try sql.run(
      "UPDATE mesh_asset_use SET undelivered = 0 WHERE asset = ? AND zone = ? AND undelivered = 1",
      [.blob(asset.bytes), .integer(zone)])
  }

  /// Handles new columns whose name was a former name of another column. They are columns of their own again.
  func awaitAll(of columns: [Int64], in table: Int64) throws {
    for column in columns {
      try sql.run(
        "UPDATE mesh_asset_use SET shown = 0 WHERE tbl = ? AND col = ? AND shown = 2",
        [.integer(table), .integer(column)])
    }
  }

  // MARK: Kept

  /// Returns the bytes of all kept assets.
  func keptBytes() throws -> Int { Int(try sql.integer("SELECT sum(size) FROM mesh_kept") ?? 0) }

  func isKept(_ asset: AssetID) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_kept WHERE asset = ?", [.blob(asset.bytes)])
  }

  func kept() throws -> [AssetID] {
    try sql.all("SELECT asset FROM mesh_kept") { AssetID($0.bytes(0)) }.compactMap(\.self)
  }

  func keep(_ asset: Asset) throws {
    try sql.run("INSERT INTO mesh_kept (asset, size) VALUES (?, ?)", [.blob(asset.id.bytes), .count(asset.size)])
  }

  /// Removes the oldest kept assets beyond a number of bytes. Returns them.
  func trimKept(to budget: Int) throws -> [AssetID] {
    var (bytes, gone, last): (Int, [AssetID], Int64?) = (0, [], nil)
    _ = try sql.all("SELECT id, size, asset FROM mesh_kept ORDER BY id DESC") { row in
      bytes = bytes.addingReportingOverflow(Int(row.integer(1))).partialValue
      guard bytes > budget, let asset = AssetID(row.bytes(2)) else { return }
      gone.append(asset)
      last = last ?? row.integer(0)
    }
    if let last { try sql.run("DELETE FROM mesh_kept WHERE id <= ?", [.integer(last)]) }
    return gone
  }

  func forgetKept(_ asset: AssetID) throws {
    try sql.run("DELETE FROM mesh_kept WHERE asset = ?", [.blob(asset.bytes)])
  }
}

/// A record that has an asset in a column, or waits for one.
struct AssetWant {
  let ref: RecordRef
  let zone: Int64
  let column: Int64
}
