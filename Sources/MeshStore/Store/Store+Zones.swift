public import MeshCore

// MARK: - Control log, accounts, instances, acknowledgements, digest

extension Store {
  public func zones() throws -> [ZoneID] {
    try read { session in
      try session.sql.all(
        "SELECT zone FROM mesh_zone WHERE id IN (SELECT zone FROM mesh_control) ORDER BY id"
      ) { ZoneID($0.bytes(0)) }.compactMap { $0 }
    }
  }

  public func controlRecords(_ zone: ZoneID) throws -> [[UInt8]] {
    try read { session in
      try session.sql.all(
        """
        SELECT mesh_control.bytes FROM mesh_control JOIN mesh_zone ON mesh_zone.id = mesh_control.zone
        WHERE mesh_zone.zone = ? ORDER BY mesh_control.id
        """, [.blob(zone.bytes)]
      ) { $0.bytes(0) }
    }
  }

  public func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws {
    try write { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      for record in records {
        try session.sql.run(
          "INSERT OR IGNORE INTO mesh_control (zone, record, bytes) VALUES (?, ?, ?)",
          [.integer(row.id), .blob(record.id.bytes), .blob(record.bytes)])
      }
    }
  }

  public func accountState(_ account: AccountID) throws -> [UInt8]? {
    try read { session in
      try session.sql.first("SELECT state FROM mesh_account WHERE account = ?", [.blob(account.bytes)]) { $0.bytes(0) }
    }
  }

  public func accounts() throws -> [AccountID] {
    try read { session in
      try session.sql.all("SELECT account FROM mesh_account ORDER BY id") { AccountID($0.bytes(0)) }.compactMap { $0 }
    }
  }

  public func saveAccountStates(_ states: [AccountID: [UInt8]]) throws {
    try write { session in
      for (account, bytes) in states.sorted(by: { $0.key < $1.key }) {
        try session.sql.run(
          """
          INSERT INTO mesh_account (account, state) VALUES (?, ?)
          ON CONFLICT (account) DO UPDATE SET state = excluded.state
          """, [.blob(account.bytes), .blob(bytes)])
      }
    }
  }

  public func nameAccount(_ account: AccountID, _ name: String) throws {
    if try accountNames()[account] == name { return }
    try write {
      try $0.sql.run(
        "UPDATE mesh_account SET name = ? WHERE account = ?", [.text(Array(name.utf8)), .blob(account.bytes)])
    }
  }

  /// Returns the names that other accounts gave themselves, if one of their devices was ever connected.
  public func accountNames() throws -> [AccountID: String] {
    try read { session in
      let named = try session.sql.all("SELECT account, name FROM mesh_account WHERE name IS NOT NULL") { row in
        AccountID(row.bytes(0)).map { ($0, row.text(1)) }
      }
      return Dictionary(named.compactMap(\.self), uniquingKeysWith: { $1 })
    }
  }

  public func instance(_ zone: ZoneID) throws -> InstanceID? {
    try read { session in
      try ZoneRow.read(zone, session.sql)?.instance
    }
  }

  public func beginInstance(_ instance: InstanceID, zone: ZoneID) throws {
    try write { session in
      var row = try ZoneRow.obtain(zone, session.sql)
      row.instance = instance
      // A unit that the earlier instance left unfinished is never continued; its rows are still pending.
      row.flushPart = 0
      row.flushSynced = 0
      row.flushValues = 0
      row.runLast = 0
      row.runRows = 0
      try row.save(session.sql)
    }
  }

  public func digest(_ zone: ZoneID) throws -> ZoneDigest {
    try read { session in
      guard let row = try ZoneRow.read(zone, session.sql) else {
        return ZoneDigest(records: 0, hash: RecordHash(low: 0, high: 0).bytes)
      }
      return ZoneDigest(
        records: UInt64(row.live), hash: RecordHash(low: row.digestLow, high: row.digestHigh).bytes)
    }
  }

  /// Saves an acknowledgement with the next transaction, or when the store is closed. A separate transaction would only
  /// delay other programs. If a crash loses it, the device sends it again in its next session.
  public func saveAcknowledgement(_ bytes: [UInt8], device: DeviceID, time: HybridTime, zone: ZoneID) throws {
    guard time > unsaved[zone]?[device]?.time ?? .zero else { return }
    unsaved[zone, default: [:]][device] = (time, bytes)
  }

  public func acknowledgements(_ zone: ZoneID) throws -> [DeviceID: [UInt8]] {
    try read { session in
      let rows = try session.sql.all(
        """
        SELECT mesh_ack.device, mesh_ack.bytes, mesh_ack.time FROM mesh_ack JOIN mesh_zone ON mesh_zone.id = mesh_ack.zone
        WHERE mesh_zone.zone = ?
        """, [.blob(zone.bytes)]
      ) { ($0.bytes(0), $0.bytes(1), HybridTime($0.bits(2))) }
      let saved = Dictionary(
        rows.compactMap { row in DeviceID(row.0).map { ($0, (time: row.2, bytes: row.1)) } },
        uniquingKeysWith: { first, _ in first })
      return saved.merging(unsaved[zone] ?? [:]) { $1.time > $0.time ? $1 : $0 }.mapValues(\.bytes)
    }
  }
}

extension Session {
  func save(_ acknowledgements: [ZoneID: [DeviceID: (time: HybridTime, bytes: [UInt8])]]) throws {
    for (zone, devices) in acknowledgements {
      guard let row = try ZoneRow.read(zone, sql) else { continue }
      for (device, acknowledgement) in devices {
        try sql.run(
          """
          INSERT INTO mesh_ack (zone, device, time, bytes) VALUES (?, ?, ?, ?)
          ON CONFLICT (zone, device) DO UPDATE SET time = excluded.time, bytes = excluded.bytes
          WHERE excluded.time > mesh_ack.time
          """,
          [.integer(row.id), .blob(device.bytes), .bits(acknowledgement.time.value), .blob(acknowledgement.bytes)])
      }
    }
  }
}
