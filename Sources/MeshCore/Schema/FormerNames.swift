/// The names that a table and its columns had before they were renamed.
///
/// Records keep their values under former names, so that devices that have not renamed the column yet go on. A device
/// that creates the table later, under its present name, learns from these names what the former ones mean.
package struct FormerNames: Hashable, Sendable {
  /// The table's former names, from the latest to the earliest, at most `tableLimit`.
  package var tables: [String]
  /// The renamed columns, at most `columnLimit`. A column that was renamed twice has two entries.
  package var columns: [Column]

  package init(tables: [String] = [], columns: [Column] = []) { (self.tables, self.columns) = (tables, columns) }

  /// One renaming of a column.
  package struct Column: Hashable, Sendable {
    /// The name that it got.
    package var name: String
    /// The name that it had before.
    package var former: String

    package init(name: String, former: String) { (self.name, self.former) = (name, former) }
  }

  /// Whether the table and its columns never had another name.
  package var isEmpty: Bool { tables.isEmpty && columns.isEmpty }

  /// The greatest number of a table's former names.
  package static let tableLimit = 16
  /// The greatest number of renamings of columns that are kept for a table.
  package static let columnLimit = 256

  /// Returns, for each former name of one of these columns, the column's present name. Former names are folded.
  ///
  /// - Parameter present: The columns of a table. A name that one of them has is not a former name.
  package func successors(_ present: [String]) -> [FoldedName: String] {
    let here = Set(present.map(\.folded))
    let next = Dictionary(columns.map { ($0.former.folded, $0.name.folded) }, uniquingKeysWith: { first, _ in first })
    let names = Dictionary(present.map { ($0.folded, $0) }, uniquingKeysWith: { first, _ in first })
    var successors: [FoldedName: String] = [:]
    for former in next.keys where !here.contains(former) {
      var (name, seen) = (former, Set([former]))
      while let later = next[name], seen.insert(later).inserted {
        name = later
        if let found = names[name] {
          successors[former] = found
          break
        }
      }
    }
    return successors
  }
}

/// The former names of the table with that name.
package struct NamedFormerNames: Hashable, Sendable {
  /// The present name of the table.
  package var table: String
  /// The former names of the table and of its columns.
  package var names: FormerNames

  package init(table: String, names: FormerNames) { (self.table, self.names) = (table, names) }

  /// Writes the table's name, its former names, and for each renaming of a column the new and the former name.
  package func write(to writer: inout ByteWriter) {
    writer.text(table)
    names.write(to: &writer)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    table = try reader.text(Limits.name, "table name")
    names = try FormerNames(from: &reader)
  }
}

extension FormerNames {
  package func write(to writer: inout ByteWriter) {
    writer.list(tables) { $0.text($1) }
    writer.list(columns) {
      $0.text($1.name)
      $0.text($1.former)
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    tables = try reader.list(Self.tableLimit, "former names") { reader throws(FormatError) in
      try reader.text(Limits.name, "table name")
    }
    columns = try reader.list(Self.columnLimit, "former names") { reader throws(FormatError) in
      Column(
        name: try reader.text(Limits.name, "column name"), former: try reader.text(Limits.name, "column name"))
    }
  }
}
