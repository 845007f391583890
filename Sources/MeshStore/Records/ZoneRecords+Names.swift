import MeshCore

/// The bound on the number of table and column names that an author uses. Each name is kept as long as a record has it,
/// in tables that this file may not even have. The bound counts only names in the author's own change sets in their
/// order, so it is the same on all devices.
extension ZoneRecords {
  /// Notes the names that a change set of an author uses.
  ///
  /// - Throws: `MalformedChangeSet` if there are too many.
  func note(namesOf author: Int64, table: Int64, columns: [Int64]) throws {
    let catalog = transaction.catalog
    let new = ([0] + columns).filter { !catalog.hasNamed(zone.id, author, table, $0) }
    guard !new.isEmpty else { return }
    var count = try catalog.namedCount(zone.id, author)
    for column in new {
      if try !hasNamed(author, table, column) {
        try transaction.names.noteNamed(author, in: zone.id, table, column)
        count += 1
      }
      catalog.noteNamed(zone.id, author, table, column)
    }
    catalog.setNamedCount(count, zone.id, author)
    guard count <= Limits.names else {
      throw MalformedChangeSet(reason: "its author names more tables and columns than it may")
    }
  }

  /// Returns whether a change set of an author uses the name of a column.
  func hasNamed(_ author: Int64, _ table: Int64, _ column: Int64) throws -> Bool {
    try transaction.names.hasNamed(author, in: zone.id, table, column)
  }
}

extension Transaction {
  /// Forgets the names of an author that has a cutoff. It writes nothing more here, or starts as if it had written
  /// nothing.
  func forgetNames(of author: Int64, zone: Int64) throws { try names.removeNamed(by: author, in: zone) }

  /// Forgets tables that were never here, and for which nothing is kept any more.
  func forgetUnusedTables() throws {
    if try tableList.removeUnused() { catalog.forget() }
  }
}
