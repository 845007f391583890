import GRDB
package import MeshCore

/// The time at which the assets of a table's rows are downloaded: always at once, or on request.
package enum AssetPolicy: String, Sendable, Hashable, CaseIterable {
  case always
  /// Download an asset only when somebody requests it.
  case onDemand = "on-demand"
}

/// The node's own choice of the assets to keep. No other node learns it.
extension StoreAssets {
  /// Returns the policies of the synchronized tables, and of others that download on request.
  package func policies() throws -> [String: AssetPolicy] {
    try read { try $0.tableList.assetPolicies() }
  }

  /// Sets a table's policy. Assets that are here stay, and choices for single assets stay as they are.
  ///
  /// The table may be one that only other devices have yet. Its assets are downloaded when this file has the table.
  package func setPolicy(_ policy: AssetPolicy, table name: String) throws {
    try write { transaction in
      let isDescribed = try ForeignSchemas(transaction: transaction).list(trusts: { _ in false }).contains {
        $0.table.name.folded == name.folded
      }
      let known = transaction.catalog.knownTable(name)
      guard let table = try known ?? (isDescribed ? transaction.catalog.tableNumber(name) : nil) else {
        throw Self.unknownTable(name)
      }
      try transaction.tableList.set(policy, of: table)
    }
  }

  /// Requests the download of an asset, whatever its table's policy.
  package func request(_ asset: AssetID) throws {
    try write { try $0.assets.choose(asset, isFetched: true) }
  }

  /// Requests the download of all assets that rows of a table wait for now, whatever its policy.
  package func requestAll(table name: String) throws {
    try write { transaction in
      guard let table = transaction.catalog.knownTable(name) else { throw Self.unknownTable(name) }
      try transaction.assets.fetchAll(of: table)
    }
  }
}
