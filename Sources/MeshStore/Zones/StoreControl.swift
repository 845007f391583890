package import MeshCore

/// The control log, the states of accounts, and the acknowledgements of devices.
package struct StoreControl: ControlStore, StorePart {
  let access: StoreAccess

  package func knownZones() throws -> [ZoneID] { try read { try $0.control.zones() } }

  package func controlRecords(_ zone: ZoneID) throws -> [[UInt8]] { try read { try $0.control.records(zone) } }

  package func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws {
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      for record in records { try transaction.control.insert(record.id, record.bytes, zone: row.id) }
    }
  }

  package func accountState(_ account: AccountID) throws -> [UInt8]? { try read { try $0.control.state(of: account) } }

  package func accounts() throws -> [AccountID] { try read { try $0.control.accounts() } }

  package func saveAccountStates(_ states: [AccountID: [UInt8]]) throws {
    try write { transaction in
      for (account, bytes) in states.sorted(by: { $0.key < $1.key }) {
        try transaction.control.save(bytes, of: account)
      }
    }
  }

  package func nameAccount(_ account: AccountID, _ name: String) throws {
    if try accountNames()[account] == name { return }
    try write { try $0.control.name(account, name) }
  }

  /// Returns the names that other accounts gave themselves, if one of their devices was ever connected.
  package func accountNames() throws -> [AccountID: String] { try read { try $0.control.names() } }

  package func setAccounts(_ accounts: Accounts, device: DeviceID) { access.setAccounts(accounts, device: device) }

  /// Saves an acknowledgement with the next transaction, or when the store is closed. A separate transaction would only
  /// delay other programs. If a crash loses it, the device sends it again in its next session.
  package func saveAcknowledgement(_ bytes: [UInt8], device: DeviceID, time: HybridTime, zone: ZoneID) throws {
    guard time > access.unsaved[zone]?[device]?.time ?? .zero else { return }
    access.unsaved[zone, default: [:]][device] = (time, bytes)
  }

  package func acknowledgements(_ zone: ZoneID) throws -> [DeviceID: [UInt8]] {
    try read { try $0.control.acknowledgements(zone) }.merging(access.unsaved[zone] ?? [:]) {
      $1.time > $0.time ? $1 : $0
    }
    .mapValues(\.bytes)
  }
}

extension Transaction {
  func save(_ acknowledgements: [ZoneID: [DeviceID: ControlTable.Acknowledgement]]) throws {
    for (zone, devices) in acknowledgements {
      guard let row = try counters.read(zone) else { continue }
      for (device, acknowledgement) in devices { try control.save(acknowledgement, of: device, zone: row.id) }
    }
  }
}
