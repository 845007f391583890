import MeshCore

extension Contents {
  func without(_ cells: Set<Ledger.CellName>, _ records: Set<RecordName>) -> Contents {
    cells.reduce(into: filter { !records.contains($0.key) }) { $0[$1.record]?[$1.column] = nil }
  }

  /// Returns the records, and the records that refer to them directly or through others.
  func hanging(on roots: Set<RecordName>) -> Set<RecordName> {
    var (found, size) = (roots, -1)
    while found.count != size {
      size = found.count
      for (name, row) in self where !found.contains(name) {
        let parents = (AppSchema.table(name.table)?.columns ?? []).compactMap { column in
          column.reference.flatMap { reference in row[column.name].map { RecordName(table: reference.parent, key: $0) }
          }
        }
        if parents.contains(where: found.contains) { found.insert(name) }
      }
    }
    return found
  }
}
