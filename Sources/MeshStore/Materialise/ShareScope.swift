import MeshCore

/// What of a share's records this schema shows: the root, and what refers to it, by way of other records or not. So nobody
/// who may write to a share puts rows into tables that have no part in it.
///
/// A table has part in a share by one of its references, its *anchor*. What is new goes into a share only where the table has
/// but one reference (`TableForm.parent`): a row of several is about more than the share, and may tell of what is private. But a
/// table of one may get another reference, by `ALTER TABLE`, on one machine before the next, and what is in the share already
/// is to stay in sight: nobody wrote that it should go. The added column can only be one that may be NULL; so the anchor is the
/// first reference that leads to the root, where the columns of all others may be NULL. A table that joins two records and
/// can't be without either has none: whoever writes to a share does not tie its records to others' private ones by that.
/// Rejected: to remember by which reference a table had part before, since a machine that never saw the earlier schema would
/// show other rows; and to go by the references that a record was born with, which its writer can choose.
struct ShareScope {
  private let root: RecordName
  private let catalog: Catalog
  private var anchors: [Int64: Reference?] = [:]

  /// Nil of a zone that may have any record.
  init?(_ zone: Int64, _ catalog: Catalog) throws {
    guard let root = try catalog.zones().entries[zone]?.root else { return nil }
    self.root = root
    self.catalog = catalog
  }

  mutating func has(_ ref: RecordRef, _ table: TableForm) -> Bool {
    isRoots(table) ? ref.key == root.key : hasAll(table)
  }

  /// Any record of the table.
  mutating func hasAll(_ table: TableForm) -> Bool { anchor(of: table) != nil }

  /// By which the table's records belong to the share; nil of the root's own table, and where they don't.
  mutating func anchor(of table: TableForm) -> Reference? {
    if let known = anchors[table.id] { return known }
    // A circle of references leads nowhere.
    anchors[table.id] = .some(nil)
    guard !table.isPrivate, !isRoots(table) else { return nil }
    let candidates =
      table.schema.foreignKeys.count == 1 ? table.references : table.references.filter(table.isAloneNeeded)
    let found = candidates.first { reference in
      catalog.table(reference.parent).map { isRoots($0) || anchor(of: $0) != nil } ?? false
    }
    anchors[table.id] = .some(found)
    return found
  }

  private func isRoots(_ table: TableForm) -> Bool {
    table.schema.name.folded == root.table.folded
  }
}

extension TableForm {
  /// A row can be without every other reference.
  fileprivate func isAloneNeeded(_ reference: Reference) -> Bool {
    schema.foreignKeys.allSatisfy { key in
      key.columns.allSatisfy { name in
        index(named: name) == reference.column || schema.column(name)?.notNull == false
      }
    }
  }
}
