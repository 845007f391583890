import Foundation
import GRDB
package import MeshCore

/// The policies of a table's columns, by the columns' names.
///
/// The policies that this account set are those of all zones. A policy that the owner of a share set is that of the
/// owner's shares alone, unless this account has set one: nobody else decides what becomes of writes to a private row.
struct ColumnPolicies {
  /// By the account that set them. Nil is this account.
  private var policies: [AccountID?: [FoldedName: ColumnPolicy]] = [:]

  /// The accounts in whose zones columns have policies. Nil is this account.
  var owners: Set<AccountID?> { Set(policies.keys).union([nil]) }

  /// Returns the policies of all tables, by the tables' names. A file of an earlier format has none.
  static func all(_ db: Database) throws -> [FoldedName: ColumnPolicies] {
    try PolicyTable.all(db).reduce(into: [:]) { found, entry in
      found[entry.table.folded, default: ColumnPolicies()]
        .policies[entry.account, default: [:]][entry.column.folded] = entry.policy
    }
  }

  /// Returns the numbers of the table's columns whose former values triggers note, by the columns' names.
  func columns(of schema: TableSchema, _ layout: Layout) -> [String: Int64] {
    guard !policies.isEmpty, let form = KeyForm(schema) else { return [:] }
    let pairs = zip(Layout.names(of: schema, form), layout.columns).filter {
      let column = $0.0
      return owners.contains {
        let policy = policy(of: column, schema, in: $0)
        return policy != nil && policy != .keepBoth
      }
    }
    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the policy of a column other than last edit wins, or nil if it has none or the table's schema doesn't
  /// allow it.
  ///
  /// - Parameter owner: The account that owns the zone, or nil if it is this account.
  func policy(of column: String, _ schema: TableSchema, in owner: AccountID?) -> ColumnPolicy? {
    let policy = policies[nil]?[column.folded] ?? policies[owner]?[column.folded]
    return policy.flatMap { $0 != .last && Self.violation($0, column, schema) == nil ? $0 : nil }
  }

  /// Returns the reason why a column can't have a policy, or nil if it can.
  static func violation(_ policy: ColumnPolicy, _ name: String, _ schema: TableSchema) -> String? {
    guard let column = schema.column(name) else { return "the table has no column \(printable(name))" }
    guard column.generated == .no else { return "\(name) is a generated column, and such a column has no policy" }
    if policy == .last { return nil }
    if column.isKey { return "\(name) is the key, and a key has no policy" }
    if schema.foreignKeys.contains(where: { $0.columns.contains { $0.folded == name.folded } }) {
      return "\(name) refers to another table, and the last edit of a reference wins"
    }
    if name.utf8.count > ColumnPolicy.nameLimit {
      return "the name of a column with a policy has at most \(ColumnPolicy.nameLimit) bytes"
    }
    if policy == .counter, column.affinity != .integer {
      let type = column.declaredType.isEmpty ? "no type" : "the type \(column.declaredType)"
      return "\(name) has \(type), and a counter needs INTEGER"
    }
    return nil
  }
}

extension StoreSchema {
  /// Returns the columns of synchronized tables that have a policy other than last edit wins. A column has several if
  /// owners of shares set others.
  package func columnPolicies() throws -> [(table: String, column: String, policy: ColumnPolicy)] {
    try read { transaction in
      transaction.catalog.allTables.flatMap { table in
        let policies = transaction.catalog.policyOwners(of: table).map {
          transaction.catalog.policies(of: table, in: $0)
        }
        return table.columns.flatMap { column in
          Set(policies.compactMap { $0[column.id] }).sorted { $0.rawValue < $1.rawValue }.map {
            (table: table.schema.name, column: column.name, policy: $0)
          }
        }
      }
    }
  }

  /// Sets the policies of columns for all devices of the account.
  ///
  /// - Parameter policies: For each table, its columns and their policies.
  /// - Throws: `StoreError` (`schemaRefused`) with every reason. Nothing is set then.
  package func setPolicies(_ policies: [String: [String: ColumnPolicy]], now: Int64) throws {
    try write { transaction in
      try PolicyChanges(transaction: transaction).check(policies)
      var isChanged = false
      for (name, columns) in policies {
        for (column, policy) in columns {
          let setting = ColumnPolicySetting(column: column, policy: policy, time: now)
          isChanged =
            try PolicyChanges(transaction: transaction).save(setting, of: name, by: nil, isNew: true) || isChanged
        }
      }
      if isChanged { try PolicyChanges(transaction: transaction).apply() }
    }
  }
}

extension StoreSchema {
  package func ownerPolicies() throws -> [AccountID: [NamedPolicies]] {
    try read { transaction in
      try transaction.policies.ofOwners().reduce(into: [:]) { found, row in
        let (account, table, setting) = row
        let last = found[account]?.indices.last
        if let last, found[account]?[last].table == table {
          found[account]?[last].policies.append(setting)
        } else {
          found[account, default: []].append(NamedPolicies(table: table, policies: [setting]))
        }
      }
    }
  }

  package func saveOwnerPolicies(_ policies: [NamedPolicies], of owner: AccountID) throws {
    try write { transaction in
      let hasNew = try policies.reduce(false) { hasNew, table in
        try table.policies.reduce(hasNew) {
          try PolicyChanges(transaction: transaction).save($1, of: table.table, by: owner) || $0
        }
      }
      if hasNew { try PolicyChanges(transaction: transaction).apply() }
    }
  }

  /// Throws if columns can't have these policies.
  ///
  /// - Throws: `StoreError` (`schemaRefused`) with every reason.
  package func checkPolicies(_ policies: [String: [String: ColumnPolicy]]) throws {
    try read { try PolicyChanges(transaction: $0).check(policies) }
  }

}

/// Changes of the policies of columns.
struct PolicyChanges: InTransaction {
  let transaction: Transaction

  func check(_ policies: [String: [String: ColumnPolicy]]) throws {
    let reasons = try Store.policyViolations(db, policies)
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }

  /// Saves a policy unless a later one of the same account is known.
  ///
  /// - Parameters:
  ///   - account: The owner of shares that set it, or nil if this account did.
  ///   - isNew: True if a person set it now. It is then later than every known one.
  /// - Returns: Whether the account's policy has changed.
  func save(
    _ setting: ColumnPolicySetting, of table: String, by account: AccountID?, isNew: Bool = false
  ) throws -> Bool {
    var hasChanged = try policies.save(setting, of: table, by: account, isNew: isNew)
    // The device that set it may use a former name.
    guard let number = catalog.knownTable(table), let here = catalog.table(number) ?? catalog.heir(of: number) else {
      return hasChanged
    }
    let column = try catalog.knownColumn(setting.column, of: here.id).flatMap { here.successors[$0] }
    let name = try column.map { try catalog.column($0).name } ?? setting.column
    if here.id != number || column != nil {
      let setting = ColumnPolicySetting(column: name, policy: setting.policy, time: setting.time)
      hasChanged = try policies.save(setting, of: here.schema.name, by: account, isNew: false) || hasChanged
    }
    return hasChanged
  }

  /// Forgets the policies of accounts in whose shares this account takes no part any more.
  func forgetStrangers() throws {
    if try policies.removeOfStrangers() { try apply() }
  }

  /// Brings the triggers up to date after policies have changed.
  func apply() throws {
    // If an app has changed the schema as well, the next look at it does this.
    if try !Capture.needsUpdate(db) { _ = try Capture.update(db, force: true) }
    catalog.forget()
    try catalog.refresh(db)
  }
}
