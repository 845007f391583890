public import MeshCore

// MARK: - Control log, accounts, instances, acknowledgements, digest

extension Store {
  public func zones() throws -> [ZoneID] { try read { try $0.control.zones() } }

  public func controlRecords(_ zone: ZoneID) throws -> [[UInt8]] { try read { try $0.control.records(zone) } }

  public func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws {
    try write { transaction in
      let row = try transaction.zoneRows.obtain(zone)
      for record in records { try transaction.control.insert(record.id, record.bytes, zone: row.id) }
    }
  }

  public func accountState(_ account: AccountID) throws -> [UInt8]? { try read { try $0.control.state(of: account) } }

  public func accounts() throws -> [AccountID] { try read { try $0.control.accounts() } }

  public func saveAccountStates(_ states: [AccountID: [UInt8]]) throws {
    try write { transaction in
      for (account, bytes) in states.sorted(by: { $0.key < $1.key }) {
        try transaction.control.save(bytes, of: account)
      }
    }
  }

  public func nameAccount(_ account: AccountID, _ name: String) throws {
    if try accountNames()[account] == name { return }
    try write { try $0.control.name(account, name) }
  }

  /// Returns the names that other accounts gave themselves, if one of their devices was ever connected.
  public func accountNames() throws -> [AccountID: String] { try read { try $0.control.names() } }

  public func instance(_ zone: ZoneID) throws -> InstanceID? {
    try read { transaction in
      try transaction.zoneRows.read(zone)?.instance
    }
  }

  public func beginInstance(_ instance: InstanceID, zone: ZoneID) throws {
    try write { transaction in
      var row = try transaction.zoneRows.obtain(zone)
      row.instance = instance
      // A unit that the earlier instance left unfinished is never continued; its rows are still pending.
      row.flushPart = 0
      row.flushSynced = 0
      row.flushValues = 0
      row.runLast = 0
      row.runRows = 0
      try transaction.zoneRows.save(row)
    }
  }

  public func digest(_ zone: ZoneID) throws -> ZoneDigest {
    try read { transaction in
      guard let row = try transaction.zoneRows.read(zone) else {
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
    try read { try $0.control.acknowledgements(zone) }.merging(unsaved[zone] ?? [:]) { $1.time > $0.time ? $1 : $0 }
      .mapValues(\.bytes)
  }
}

extension Transaction {
  func save(_ acknowledgements: [ZoneID: [DeviceID: ControlTable.Acknowledgement]]) throws {
    for (zone, devices) in acknowledgements {
      guard let row = try zoneRows.read(zone) else { continue }
      for (device, acknowledgement) in devices { try control.save(acknowledgement, of: device, zone: row.id) }
    }
  }
}
