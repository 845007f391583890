import MeshCore

/// The rules for a decrypted body, which don't depend on its signer. A change set that breaks a rule is never merged by
/// any device.
enum ChangeRules {
  static func check(_ body: ChangeSetBody, _ header: ChangeSetHeader) throws {
    guard case .changes(let tables) = body.content else { return }
    var long = 0
    for table in tables {
      try checkNames(table)
      for row in table.rows {
        try checkStamps(row, header)
        guard row.generation <= header.time.greatestGeneration else {
          throw malformed("a generation is further ahead than its time allows")
        }
        for field in row.fields { if case .long(_, let size, _) = field.value { long += size } }
      }
    }
    guard long <= Limits.longValue else { throw malformed("the long values of a part are over the limit") }
  }

  private static func checkNames(_ table: TableChanges) throws {
    guard !table.table.isEmpty, !SchemaDescription.isReserved(table.table) else {
      throw malformed("a table's name is reserved or empty")
    }
    // No SQL can express such a name, and SQLite's comparison of names ends at the NUL, so it would confuse two of
    // them.
    guard !([table.table] + table.columns).contains(where: { $0.utf8.contains(0) }) else {
      throw malformed("the name of a table or column has the character U+0000")
    }
    var seen: Set<FoldedName> = []
    for column in table.columns {
      guard !column.isEmpty, seen.insert(column.folded).inserted else {
        throw malformed("a column is named twice, or not at all")
      }
    }
  }

  private static func checkStamps(_ row: RowChange, _ header: ChangeSetHeader) throws {
    // Only a birth may contain stamps of other authors, for a record that moved from another zone.
    let isMove = row.isLife && row.generation.isAlive
    try check(row.stamp, header, isMove: isMove)
    for field in row.fields { if let stamp = field.stamp { try check(stamp, header, isMove: isMove) } }
  }

  private static func check(_ stamp: Stamp, _ header: ChangeSetHeader, isMove: Bool) throws {
    guard stamp.time <= header.time else { throw malformed("a stamp is later than the change set") }
    guard isMove || stamp.author == header.author else { throw malformed("a stamp is another author's") }
  }

  private static func malformed(_ reason: String) -> MalformedChangeSet { MalformedChangeSet(reason: reason) }
}
