import Foundation
import GRDB
import MeshCore

/// The policies of columns (`mesh_policy`).
struct PolicyTable {
  let sql: Connection

  struct Entry {
    let account: AccountID?
    let table: String
    let column: String
    let policy: ColumnPolicy
  }

  /// Returns the policies of all tables. A file of an earlier format has none.
  static func all(_ db: Database) throws -> [Entry] {
    guard try db.tableExists("mesh_policy") else { return [] }
    return try Row.fetchAll(db.cachedStatement(sql: "SELECT tbl, col, policy, account FROM mesh_policy")).compactMap {
      row in
      let (number, bytes): (Int, Data) = (row["policy"], row["account"])
      guard let policy = UInt8(exactly: number).flatMap(ColumnPolicy.init(rawValue:)) else { return nil }
      let account = AccountID(Array(bytes))
      guard bytes.isEmpty || account != nil else { return nil }
      return Entry(account: account, table: row["tbl"], column: row["col"], policy: policy)
    }
  }

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

  /// Returns the policies that owners of shares set, in the order of accounts, tables and columns.
  func ofOwners() throws -> [(account: AccountID, table: String, setting: ColumnPolicySetting)] {
    try sql.all(
      "SELECT account, tbl, col, policy, time FROM mesh_policy WHERE account <> x'' ORDER BY account, tbl, col"
    ) { row in
      AccountID(row.bytes(0)).flatMap { account in
        UInt8(exactly: row.integer(3)).flatMap(ColumnPolicy.init(rawValue:)).map {
          (account, row.text(1), ColumnPolicySetting(column: row.text(2), policy: $0, time: row.integer(4)))
        }
      }
    }.compactMap(\.self)
  }

  /// Returns the policies that this account set for the columns of a table.
  func own(of table: String) throws -> [ColumnPolicySetting] {
    try sql.all(
      "SELECT col, policy, time FROM mesh_policy WHERE tbl = ? AND account = x'' ORDER BY col", [.text(table)]
    ) { row in
      UInt8(exactly: row.integer(1)).flatMap(ColumnPolicy.init(rawValue:)).map {
        ColumnPolicySetting(column: row.text(0), policy: $0, time: row.integer(2))
      }
    }.compactMap(\.self)
  }

  /// Returns the number of policies of each owner of shares.
  func counts() throws -> [AccountID: Int] {
    let counts = try sql.all(
      "SELECT account, count(*) FROM mesh_policy WHERE account <> x'' GROUP BY account"
    ) { row in AccountID(row.bytes(0)).map { ($0, Int(row.integer(1))) } }
    return Dictionary(counts.compactMap(\.self), uniquingKeysWith: +)
  }

  /// Saves a policy unless a later one of the same account is known, or an owner of shares has too many.
  ///
  /// - Parameters:
  ///   - account: The owner of shares that set it, or nil if this account did.
  ///   - isNew: True if a person set it now. It is then later than every known one.
  /// - Returns: Whether the account's policy has changed.
  func save(_ setting: ColumnPolicySetting, of table: String, by account: AccountID?, isNew: Bool) throws -> Bool {
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

  /// Removes the policies of accounts in whose shares this account takes no part any more. Returns whether there were
  /// any.
  func removeOfStrangers() throws -> Bool {
    let roles: [ZoneStanding.Role] = [.readWrite, .readOnly]
    try sql.run(
      """
      DELETE FROM mesh_policy WHERE account <> x'' AND account NOT IN (
        SELECT owner FROM mesh_zone WHERE owner IS NOT NULL
          AND role IN (\(roles.map { String($0.rawValue) }.joined(separator: ", "))))
      """)
    return sql.changes > 0
  }
}
