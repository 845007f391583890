import Foundation
public import GRDB
public import MeshCore

/// The policies of a table's columns, by the columns' names. `mesh_policy` keeps them, and only this file reads and
/// writes that table.
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
    guard try db.tableExists("mesh_policy") else { return [:] }
    let rows = try Row.fetchAll(db, sql: "SELECT tbl, col, policy, account FROM mesh_policy")
    return rows.reduce(into: [:]) { found, row in
      let (table, column, number, bytes): (String, String, Int, Data) = (
        row["tbl"], row["col"], row["policy"], row["account"]
      )
      guard let policy = UInt8(exactly: number).flatMap(ColumnPolicy.init(rawValue:)) else { return }
      let account = AccountID(Array(bytes))
      guard bytes.isEmpty || account != nil else { return }
      found[table.folded, default: ColumnPolicies()].policies[account, default: [:]][column.folded] = policy
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
    guard let column = schema.column(name), column.generated == .no else {
      return "the table has no column \(printable(name)) that programs write"
    }
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

extension ColumnPolicies {
  /// Lets the policy of a column, or those of all columns, continue under a new name. Later settings under that name
  /// stay.
  ///
  /// - Parameters:
  ///   - former: The names of the table and the column, which is nil for all columns.
  ///   - new: The new names.
  static func follow(
    _ db: Database, _ former: (table: String, column: String?), to new: (table: String, column: String?)
  ) throws {
    guard try db.tableExists("mesh_policy") else { return }
    try db.execute(
      sql: """
        INSERT INTO mesh_policy (tbl, col, account, policy, time)
        SELECT ?3, ifnull(?4, col), account, policy, time FROM mesh_policy WHERE tbl = ?1 AND col = ifnull(?2, col)
        ON CONFLICT (tbl, col, account) DO UPDATE SET policy = excluded.policy, time = excluded.time
        WHERE (excluded.time, excluded.policy) > (time, policy)
        """, arguments: [former.table, former.column, new.table, new.column])
  }
}

extension Store {
  /// Returns the columns of synchronized tables that have a policy other than last edit wins. A column has several if
  /// owners of shares set others.
  public func columnPolicies() throws -> [(table: String, column: String, policy: ColumnPolicy)] {
    try read { session in
      session.catalog.allTables.flatMap { table in
        let policies = session.catalog.policyOwners(of: table).map { session.catalog.policies(of: table, in: $0) }
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
  public func setPolicies(_ policies: [String: [String: ColumnPolicy]], now: Int64) throws {
    try write { session in
      try session.check(policies)
      var isChanged = false
      for (name, columns) in policies {
        for (column, policy) in columns {
          let setting = ColumnPolicySetting(column: column, policy: policy, time: now)
          isChanged = try session.savePolicy(setting, of: name, by: nil, isNew: true) || isChanged
        }
      }
      if isChanged { try session.policiesChanged() }
    }
  }
}

extension Store {
  public func ownerPolicies() throws -> [AccountID: [NamedPolicies]] {
    try read { session in
      let rows = try session.sql.all(
        "SELECT account, tbl, col, policy, time FROM mesh_policy WHERE account <> x'' ORDER BY account, tbl, col"
      ) { row in
        AccountID(row.bytes(0)).flatMap { account in
          UInt8(exactly: row.integer(3)).flatMap(ColumnPolicy.init(rawValue:)).map {
            (account, row.text(1), ColumnPolicySetting(column: row.text(2), policy: $0, time: row.integer(4)))
          }
        }
      }.compactMap(\.self)
      return rows.reduce(into: [:]) { found, row in
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

  public func saveOwnerPolicies(_ policies: [NamedPolicies], of owner: AccountID) throws {
    try write { session in
      let hasNew = try policies.reduce(false) { hasNew, table in
        try table.policies.reduce(hasNew) { try session.savePolicy($1, of: table.table, by: owner) || $0 }
      }
      if hasNew { try session.policiesChanged() }
    }
  }

  /// Throws if columns can't have these policies.
  ///
  /// - Throws: `StoreError` (`schemaRefused`) with every reason.
  public func checkPolicies(_ policies: [String: [String: ColumnPolicy]]) throws {
    try read { try $0.check(policies) }
  }

  /// Returns every reason that columns can't have these policies.
  public static func policyViolations(
    _ db: Database, _ policies: [String: [String: ColumnPolicy]]
  ) throws -> [String] {
    var reasons: [String] = []
    for (name, columns) in policies.sorted(by: { $0.key < $1.key }) {
      guard let schema = try TableSchema.read(db, name) else { throw StoreError.unknownTable(name) }
      for (column, policy) in columns.sorted(by: { $0.key < $1.key }) {
        guard let reason = ColumnPolicies.violation(policy, column, schema) else { continue }
        reasons.append("\(schema.name): \(reason)")
      }
    }
    return reasons
  }
}

extension Session {
  fileprivate func check(_ policies: [String: [String: ColumnPolicy]]) throws {
    let reasons = try Store.policyViolations(db, policies)
    guard reasons.isEmpty else { throw StoreError(.schemaRefused, reasons: reasons) }
  }

  /// Saves a policy unless a later one of the same account is known.
  ///
  /// - Parameters:
  ///   - account: The owner of shares that set it, or nil if this account did.
  ///   - isNew: True if a person set it now. It is then later than every known one.
  /// - Returns: Whether the account's policy has changed.
  func savePolicy(
    _ setting: ColumnPolicySetting, of table: String, by account: AccountID?, isNew: Bool = false
  ) throws -> Bool {
    var hasChanged = try savePolicyByName(setting, of: table, by: account, isNew: isNew)
    // The device that set it may use a former name.
    guard let number = catalog.knownTable(table), let here = catalog.table(number) ?? catalog.heir(of: number) else {
      return hasChanged
    }
    let column = try catalog.knownColumn(setting.column, of: here.id).flatMap { here.successors[$0] }
    let name = try column.map { try catalog.column($0).name } ?? setting.column
    if here.id != number || column != nil {
      let setting = ColumnPolicySetting(column: name, policy: setting.policy, time: setting.time)
      hasChanged = try savePolicyByName(setting, of: here.schema.name, by: account, isNew: false) || hasChanged
    }
    return hasChanged
  }

  private func savePolicyByName(
    _ setting: ColumnPolicySetting, of table: String, by account: AccountID?, isNew: Bool
  ) throws -> Bool {
    let by = Value.blob(account?.bytes ?? [])
    let place: [Value] = [.text(table), .text(setting.column), by]
    let known = try sql.first(
      "SELECT policy, time FROM mesh_policy WHERE tbl = ? AND col = ? AND account = ?", place
    ) { (policy: $0.integer(0), time: $0.integer(1)) }
    var time = setting.time
    let policy = Int64(setting.policy.rawValue)
    if let known {
      if isNew {
        if known.policy == policy { return false }
        time = min(max(time, known.time.saturatingAdding(1)), ColumnPolicySetting.latest)
      } else {
        // Of two settings with one time, all devices choose the same.
        guard (time, policy) > (known.time, known.policy) else { return false }
      }
    } else if account != nil,
      try sql.integer("SELECT count(*) FROM mesh_policy WHERE account = ?", [by]) ?? 0 >= StoreLimits.policies
    {
      return false
    }
    try sql.run(
      "INSERT OR REPLACE INTO mesh_policy (tbl, col, account, policy, time) VALUES (?, ?, ?, ?, ?)",
      place + [.integer(policy), .integer(time)])
    return known?.policy != policy
  }

  /// Forgets the policies of accounts in whose shares this account takes no part any more.
  func forgetPolicies() throws {
    let roles: [ZoneStanding.Role] = [.readWrite, .readOnly]
    try sql.run(
      """
      DELETE FROM mesh_policy WHERE account <> x'' AND account NOT IN (
        SELECT owner FROM mesh_zone WHERE owner IS NOT NULL
          AND role IN (\(roles.map { String($0.rawValue) }.joined(separator: ", "))))
      """)
    if try sql.integer("SELECT changes()") ?? 0 > 0 { try policiesChanged() }
  }

  /// Brings the triggers up to date after policies have changed.
  func policiesChanged() throws {
    // If an app has changed the schema as well, the next look at it does this.
    if try !Capture.needsUpdate(db) { _ = try Capture.update(db, force: true) }
    catalog.forget()
    try catalog.refresh(db)
  }

  /// Returns the policies that this account set for the columns of a table.
  func ownPolicies(of table: String) throws -> [ColumnPolicySetting] {
    try sql.all(
      "SELECT col, policy, time FROM mesh_policy WHERE tbl = ? AND account = x'' ORDER BY col", [.text(table)]
    ) { row in
      UInt8(exactly: row.integer(1)).flatMap(ColumnPolicy.init(rawValue:)).map {
        ColumnPolicySetting(column: row.text(0), policy: $0, time: row.integer(2))
      }
    }.compactMap(\.self)
  }
}
