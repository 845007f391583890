package import MeshCore

/// A merged value that is an asset, and the state of its download.
package struct AssetPlace: Hashable, Sendable {
  package var asset: Asset
  package var zone: ZoneID
  package var table: String
  package var key: Value
  package var column: String
  /// Whether the row has it.
  package var isShown: Bool
  /// The bytes of it that are here.
  package var here: Int
  /// The reason why the record is not in its table, if it is held. If the reason is not a missing BLOB, its assets are
  /// not downloaded.
  package var held: HeldReason?
  /// Whether its record wants it downloaded.
  package var isFetched: Bool
  /// The reason why its row couldn't show it if it were here, or nil if it could.
  package var obstacle: String?
  /// The choice for this asset: downloaded or not. Nil if there is none.
  package var choice: Bool?
  /// The table's policy.
  package var policy: AssetPolicy
  /// The device that wrote it into the record.
  package var writer: DeviceID?
  /// The last device that had chunks of it and disconnected while it was incomplete here, with the time in milliseconds
  /// since 1970.
  package var lastSource: Source?

  package struct Source: Hashable, Sendable {
    package var device: DeviceID
    package var time: Int64
  }
}

/// The reason why there is no asset in the requested place.
package enum AssetLack: Hashable, Sendable {
  case unknownRecord
  /// The table has only these columns.
  case unknownColumn([String])
  /// A program's write to the record is not flushed yet.
  case pending
  /// The record is not sent, because a value is too long. The text explains it.
  case tooLong(String)
  /// The value is not an asset, or is a BLOB that travels in its row.
  case short
}

/// An asset that rows wait for and that is downloaded.
package struct FetchedAsset: Hashable, Sendable {
  package var asset: Asset
  /// The bytes of it that are known to be here.
  package var here: Int
  /// The reason why no row could show it if it were here, or nil if one could.
  package var obstacle: String?
}

extension StoreAssets {
  /// Returns all assets that are downloaded and not in their rows yet.
  package func fetched() throws -> [FetchedAsset] {
    try read { transaction in
      var found: [AssetID: FetchedAsset] = [:]
      let places = AssetPlaces(transaction: transaction)
      for lack in try places.lacking() where lack.isFetched {
        let obstacle = places.obstacle(lack.asset.size, table: lack.table, column: lack.column)
        if obstacle != nil, found[lack.asset.id] != nil { continue }
        found[lack.asset.id] = FetchedAsset(
          asset: lack.asset, here: min(lack.asset.size, transaction.staged.present(lack.asset.id) * Limits.chunk),
          obstacle: obstacle)
      }
      return found.values.sorted { ($0.asset.size, $0.asset.id) < ($1.asset.size, $1.asset.id) }
    }
  }

  /// Returns the assets that rows wait for, shortest first, which is the order of downloading.
  ///
  /// - Parameter table: The table, or nil for all tables.
  package func awaited(table name: String? = nil, limit: Int) throws -> [AssetPlace] {
    try read { transaction in
      let places = AssetPlaces(transaction: transaction)
      guard let name else { return try places.list(.awaited(table: nil), limit: limit) }
      guard let table = transaction.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      return try places.list(.awaited(table: table), limit: limit)
    }
  }

  /// Returns the assets of a record, in all zones that have it.
  ///
  /// - Parameters:
  ///   - key: The key as it is spelled in the row, or in canonical form.
  ///   - column: The column, or nil for all columns.
  package func places(table name: String, key: Value, column: String?) throws -> [AssetPlace] {
    try read { transaction in
      guard let table = transaction.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      let canonical = transaction.catalog.table(table)?.form.canonical(key) ?? key
      let ref = RecordRef(table: table, key: canonical)
      let found = try AssetPlaces(transaction: transaction).list(.record(ref), limit: .max)
      return found.filter { place in column.map { $0.folded == place.column.folded } ?? true }
    }
  }

  /// Returns the reason why a record has no asset.
  ///
  /// - Parameters:
  ///   - keys: The possible spellings of its key.
  ///   - column: The requested column, or nil for all columns.
  package func lack(table name: String, keys: [Value], column: String?) throws -> AssetLack {
    try read { transaction in
      guard let number = transaction.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      let table = transaction.catalog.table(number)
      if let column, let table, table.isHere, table.schema.column(column) == nil {
        return .unknownColumn(table.schema.columns.map(\.name))
      }
      var isKnown = false
      for key in keys {
        let ref = RecordRef(table: number, key: table?.form.canonical(key) ?? key)
        if let message = try transaction.held.tooLong(ref) { return .tooLong(message) }
        let collation = (table?.form.collation ?? .binary).sql
        if try transaction.pending.has(ref, collation) { return .pending }
        isKnown = try isKnown || transaction.recordRows.exists(ref, .alive)
      }
      return isKnown ? .short : .unknownRecord
    }
  }

  static func unknownTable(_ name: String) -> StoreError {
    StoreError(.unknownTable, "no synchronized table is called \(name); mesh status lists them")
  }

  package func undelivered(_ zone: ZoneID, limit: Int) throws -> [Asset] {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return [] }
      return try transaction.assets.undelivered(in: row.id, limit: limit)
    }
  }

  package func noteDelivered(_ assets: Set<AssetID>, in zone: ZoneID) throws {
    try write(isDurable: false) { transaction in
      guard let row = try transaction.counters.read(zone) else { return }
      for asset in assets { try transaction.assets.noteDelivered(asset, in: row.id) }
    }
  }

  /// Saves which devices had chunks of assets and disconnected.
  package func noteSources(_ sources: [AssetID: DeviceID], now: Int64) throws {
    try write(isDurable: false) { transaction in
      for (asset, device) in sources { try transaction.assets.note(source: device, of: asset, now: now) }
    }
  }
}
