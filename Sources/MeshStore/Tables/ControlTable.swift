import MeshCore

/// The control logs (`mesh_control`), the accounts (`mesh_account`), and what devices acknowledged (`mesh_ack`).
struct ControlTable {
  let sql: Connection

  // MARK: Control records

  /// Returns the zones that have a control log.
  func zones() throws -> [ZoneID] {
    try sql.all("SELECT zone FROM mesh_zone WHERE id IN (SELECT zone FROM mesh_control) ORDER BY id") {
      ZoneID($0.bytes(0))
    }.compactMap(\.self)
  }

  func records(_ zone: ZoneID) throws -> [[UInt8]] {
    try sql.all(
      """
      SELECT mesh_control.bytes FROM mesh_control JOIN mesh_zone ON mesh_zone.id = mesh_control.zone
      WHERE mesh_zone.zone = ? ORDER BY mesh_control.id
      """, [.blob(zone.bytes)]
    ) { $0.bytes(0) }
  }

  /// Adds a record. A known one stays.
  func insert(_ id: ControlID, _ bytes: [UInt8], zone: Int64) throws {
    try sql.run(
      "INSERT OR IGNORE INTO mesh_control (zone, record, bytes) VALUES (?, ?, ?)",
      [.integer(zone), .blob(id.bytes), .blob(bytes)])
  }

  // MARK: Accounts

  func accounts() throws -> [AccountID] {
    try sql.all("SELECT account FROM mesh_account ORDER BY id") { AccountID($0.bytes(0)) }.compactMap(\.self)
  }

  func state(of account: AccountID) throws -> [UInt8]? {
    try sql.first("SELECT state FROM mesh_account WHERE account = ?", [.blob(account.bytes)]) { $0.bytes(0) }
  }

  func save(_ state: [UInt8], of account: AccountID) throws {
    try sql.run(
      """
      INSERT INTO mesh_account (account, state) VALUES (?, ?)
      ON CONFLICT (account) DO UPDATE SET state = excluded.state
      """, [.blob(account.bytes), .blob(state)])
  }

  /// Returns the names that accounts gave themselves.
  func names() throws -> [AccountID: String] {
    let named = try sql.all("SELECT account, name FROM mesh_account WHERE name IS NOT NULL") { row in
      AccountID(row.bytes(0)).map { ($0, row.text(1)) }
    }
    return Dictionary(named.compactMap(\.self), uniquingKeysWith: { $1 })
  }

  func name(_ account: AccountID, _ name: String) throws {
    try sql.run("UPDATE mesh_account SET name = ? WHERE account = ?", [.text(Array(name.utf8)), .blob(account.bytes)])
  }

  // MARK: Acknowledgements

  typealias Acknowledgement = (time: HybridTime, bytes: [UInt8])

  func acknowledgements(_ zone: ZoneID) throws -> [DeviceID: Acknowledgement] {
    let rows = try sql.all(
      """
      SELECT mesh_ack.device, mesh_ack.bytes, mesh_ack.time FROM mesh_ack JOIN mesh_zone ON mesh_zone.id = mesh_ack.zone
      WHERE mesh_zone.zone = ?
      """, [.blob(zone.bytes)]
    ) { row in DeviceID(row.bytes(0)).map { ($0, Acknowledgement(HybridTime(row.bits(2)), row.bytes(1))) } }
    return Dictionary(rows.compactMap(\.self), uniquingKeysWith: { first, _ in first })
  }

  /// Saves an acknowledgement unless a later one of the device is known.
  func save(_ acknowledgement: Acknowledgement, of device: DeviceID, zone: Int64) throws {
    try sql.run(
      """
      INSERT INTO mesh_ack (zone, device, time, bytes) VALUES (?, ?, ?, ?)
      ON CONFLICT (zone, device) DO UPDATE SET time = excluded.time, bytes = excluded.bytes
      WHERE excluded.time > mesh_ack.time
      """,
      [.integer(zone), .blob(device.bytes), .bits(acknowledgement.time.value), .blob(acknowledgement.bytes)])
  }

  func removeAcknowledgements(of zone: Int64) throws {
    try sql.run("DELETE FROM mesh_ack WHERE zone = ?", [.integer(zone)])
  }
}
