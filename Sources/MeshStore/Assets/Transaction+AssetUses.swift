import MeshCore

extension Transaction {
  /// Returns the cells that show an asset, as far as mesh knows.
  func cells(showing asset: AssetID) throws -> [Cell] { try assets.shown(asset, limit: 8).compactMap(cell) }

  /// Returns the cell of a table that is here.
  func cell(_ use: AssetWant) -> Cell? {
    guard let table = catalog.table(use.ref.table), let index = table.indexes[use.column] else { return nil }
    return Cell(table: table, key: use.ref.key, index: index)
  }
}
