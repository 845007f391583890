import MeshCore

/// The records of a share that this schema shows: the root, and the records that refer to it, directly or through
/// others. So a participant with write permission can't put rows into tables that don't belong to the share.
///
/// A table belongs to a share by one of its references, its *anchor*. A new record joins a share only if its table has
/// exactly one reference (`TableForm.parent`). A row with several references concerns more than the share, and may
/// reveal private data.
///
/// `ALTER TABLE` may add a reference to such a table, on one machine before another. Records that are in the share
/// already must then stay visible, because nobody asked to remove them. An added column must allow NULL. Therefore the
/// anchor is the first reference that leads to the root, if the columns of all other references may be NULL.
///
/// A table that joins two records and needs both has no anchor. Otherwise a participant could tie its records to the
/// private records of others.
///
/// Two alternatives were rejected. One is to remember the reference by which a table belonged before, but a machine
/// that never saw the earlier schema would show other rows. The other is to use the references that a record was born
/// with, but its writer can choose those.
struct ShareScope {
  private let root: RecordName
  private let catalog: Catalog
  private var anchors: [Int64: Reference?] = [:]

  /// Returns nil for a zone that may contain any record.
  init?(_ zone: Int64, _ catalog: Catalog) throws {
    guard let root = try catalog.zones().entries[zone]?.root else { return nil }
    self.root = root
    self.catalog = catalog
  }

  mutating func has(_ ref: RecordRef, _ table: TableForm) -> Bool {
    isRoots(table) ? ref.key == root.key : hasAll(table)
  }

  /// Returns whether any record of the table may be shown.
  mutating func hasAll(_ table: TableForm) -> Bool { anchor(of: table) != nil }

  /// Returns the reference by which the table's records belong to the share. Returns nil for the root's own table, and
  /// for tables that don't belong to the share.
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
  /// Returns whether a row can exist without every other reference.
  fileprivate func isAloneNeeded(_ reference: Reference) -> Bool {
    schema.foreignKeys.allSatisfy { key in
      key.columns.allSatisfy { name in
        index(named: name) == reference.column || schema.column(name)?.notNull == false
      }
    }
  }
}
