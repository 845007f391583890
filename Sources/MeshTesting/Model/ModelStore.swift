package import MeshCore

/// A replica in memory. Records are lattice values, the change log is an array, and there is no SQL and no schema. It
/// is the simplest implementation that keeps the store's promises. Tests use it for replication, and compare the real
/// store with it.
///
/// Local writes use `write` and `delete` instead of triggers. One caller at a time uses it.
package final class ModelStore: ReplicaStore {
  /// The rows as an app sees them, including unflushed writes.
  package internal(set) var rows: Contents = [:]
  var pending: [PendingChange] = []
  /// The results of the next calls of `upkeep`.
  package var upkeepSteps: [(ModelStore) -> UpkeepProgress] = []
  /// True if the log has to be read again before anything is flushed or merged, as after a table lost a column.
  package var needsRecall = false
  /// The errors that upkeep, a cut, or the end of a zone throws, to simulate a disk that fails. `dropFault` is thrown
  /// when the records are gone.
  package var upkeepFault: (any Error)?
  package var revertFault: (any Error)?
  package var dropFault: (any Error)?
  /// The error that saving control records throws, to simulate a full disk, after `controlRoom` more records were
  /// saved.
  package var controlFault: (any Error)?
  package var controlRoom = 0
  /// The chunks in whose place a program has written other bytes that are not flushed yet.
  package var patchedChunks: [AssetID: Set<Int>] = [:]
  /// The number of writes by the app.
  private(set) var writes = 0
  var metAssets: ModelAssets
  var zoneOrder: [ZoneID] = []
  var zoneData: [ZoneID: ModelZone] = [:]
  let cryptography: any Cryptography
  /// The number of records in one change set.
  let partSize: Int
  private var accountStates: [AccountID: [UInt8]] = [:]
  package private(set) var standings: [ZoneStanding] = []
  var noted: [Receipt] = []
  var keptCopies: Set<ZoneID> = []
  /// The assets of this device that an owner has, by the owner's share.
  var deliveredAssets: [ZoneID: Set<AssetID>] = [:]
  /// This device. It is nil until a replica uses the store.
  private(set) var device: DeviceID?
  /// The descriptions of tables that members sent.
  package private(set) var foreignSchemas: [DeviceID: [SchemaDescription]] = [:]
  /// The descriptions of this device's tables, with the policies that it has learned.
  package var schemas: [SchemaDescription] = []
  private var certified = Accounts()
  private var policiesOfOwners: [AccountID: [String: [String: ColumnPolicySetting]]] = [:]

  struct PendingChange {
    let name: RecordName
    /// The zone, or nil for the private zone.
    let zone: ZoneID?
    /// The columns, or nil if the record was deleted.
    let columns: Set<String>?
  }

  package init(_ cryptography: any Cryptography, partSize: Int = Choices.slice) {
    self.cryptography = cryptography
    self.partSize = partSize
    metAssets = ModelAssets(cryptography)
  }

  /// Returns a copy, as of a file that is copied while nobody uses it.
  package func copy() -> ModelStore {
    let copy = ModelStore(cryptography, partSize: partSize)
    (copy.rows, copy.pending, copy.zoneOrder, copy.zoneData) = (rows, pending, zoneOrder, zoneData)
    (copy.accountStates, copy.foreignSchemas, copy.schemas) = (accountStates, foreignSchemas, schemas)
    (copy.standings, copy.noted) = (standings, noted)
    copy.metAssets = metAssets
    return copy
  }

  // MARK: The app

  /// Writes a row.
  ///
  /// - Parameter zone: The zone, or nil for the private zone. A model has no references that would determine the zone
  ///   of a new record.
  package func write(_ name: RecordName, _ values: [String: Value], zone: ZoneID? = nil) {
    let row = rows[name]
    let changed = values.filter { row?[$0.key] != $0.value }
    guard row == nil || !changed.isEmpty else { return }
    writes += 1
    rows[name, default: [:]].merge(values) { $1 }
    pending.append(PendingChange(name: name, zone: zone, columns: Set((row == nil ? values : changed).keys)))
  }

  package func delete(_ name: RecordName, zone: ZoneID? = nil) {
    guard rows.removeValue(forKey: name) != nil else { return }
    writes += 1
    pending.append(PendingChange(name: name, zone: zone, columns: nil))
  }

  /// The state to which a rolled-back transaction returns.
  var checkpoint: (Contents, [PendingChange]) { (rows, pending) }
  func restore(_ checkpoint: (Contents, [PendingChange])) { (rows, pending) = checkpoint }

  // MARK: Control log and account objects

  package func knownZones() -> [ZoneID] { zoneOrder }

  package func controlRecords(_ zone: ZoneID) -> [[UInt8]] { zoneData[zone]?.control.map(\.bytes) ?? [] }

  package func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws {
    if let controlFault {
      guard records.count <= controlRoom else { throw controlFault }
      controlRoom -= records.count
    }
    if zoneData[zone] == nil {
      zoneOrder.append(zone)
      zoneData[zone] = ModelZone()
    }
    for record in records where zoneData[zone]?.control.contains(where: { $0.id == record.id }) == false {
      zoneData[zone]?.control.append(record)
    }
  }

  package func accountState(_ account: AccountID) -> [UInt8]? { accountStates[account] }
  package func accounts() -> [AccountID] { accountStates.keys.sorted() }
  package func saveAccountStates(_ states: [AccountID: [UInt8]]) { accountStates.merge(states) { $1 } }

  package func nameAccount(_ account: AccountID, _ name: String) { accountNames[account] = name }
  package private(set) var accountNames: [AccountID: String] = [:]

  /// The values of other devices that each cut reverted, which a person can look at.
  package internal(set) var kept: [RecordName: [RecordState<String>]] = [:]

  /// The times through which another file may have sent what was pending when the present instances began.
  package private(set) var sentThrough: [ZoneID: Int64] = [:]

  package func instance(_ zone: ZoneID) -> InstanceID? { zoneData[zone]?.instance }
  package func beginInstance(_ instance: InstanceID, zone: ZoneID, sentThrough time: Int64? = nil) {
    zoneData[zone]?.instance = instance
    sentThrough[zone] = time
  }

  package func doubtfulIncrements(_ zone: ZoneID) -> [RecordName] { [] }

  package func isShowing() -> Bool { false }
  package func pendingCount() -> Int { pending.count }

  package func unsent(_ zone: ZoneID) -> Unsent { pending.isEmpty ? .nothing : .pending }

  /// The ids of the merged change sets in all zones.
  var mergedIDs: Set<ChangeSetID> { Set(zoneData.values.flatMap { $0.log.map(\.id) }) }

  // MARK: Zones

  package func setStandings(_ standings: [ZoneStanding]) { self.standings = standings }

  package func endedZones() -> Set<ZoneID> { Set(standings.filter { $0.role == .ended }.map(\.zone)) }

  package func citations(_ zone: ZoneID) -> [Author: ControlID] {
    (zoneData[zone]?.authors ?? [:]).compactMapValues { $0.stored.first?.header.citation }
  }

  package func root(named record: RecordName) -> RecordName { record }

  package func obstacle(toSharing record: RecordName) -> ShareObstacle? {
    if let standing = standings.first(where: { $0.root == record && $0.role != .ended && !$0.isStopped }) {
      return .alreadyShared(record, in: standing.zone)
    }
    return rows[record] == nil ? .noRecord(record) : nil
  }

  package func keepCopy(of zone: ZoneID) { keptCopies.insert(zone) }

  package func keepsCopy(of zone: ZoneID) -> Bool { keptCopies.contains(zone) }

  /// Removes the records in one step, and the log in another.
  package func dropZone(
    _ zone: ZoneID, keepingCopy: Bool, unsent: [Author: UInt64], now: Int64
  ) throws -> Bool {
    let keepingCopy = keptCopies.contains(zone) || keepingCopy
    pending.removeAll { $0.zone == zone }
    if let records = zoneData[zone]?.records, !records.isEmpty {
      for (name, record) in records where record.isAlive {
        if keepingCopy {
          pending.append(PendingChange(name: name, zone: nil, columns: Set(rows[name, default: [:]].keys)))
        } else {
          rows[name] = nil
        }
      }
      zoneData[zone]?.records = [:]
      return true
    }
    if let dropFault { throw dropFault }
    keptCopies.remove(zone)
    var dropped = zoneData[zone] ?? ModelZone()
    dropped.setAside(unsent)
    zoneData[zone] = ModelZone(control: dropped.control, reverted: dropped.reverted)
    return false
  }

  package func receipts(_ zone: ZoneID) -> [Receipt] { noted.filter { $0.zone == zone }.reversed() }

  func noteReceipt(
    _ zone: ZoneID, _ record: RecordName, _ values: [String: Value]?, _ reason: Receipt.Reason, _ now: Int64
  ) {
    noted.append(Receipt(zone: zone, record: record, values: values, reason: reason, noted: now))
  }

  // MARK: Proof

  package func digest(_ zone: ZoneID) -> ZoneDigest {
    var count: UInt64 = 0
    var (low, high): (UInt64, UInt64) = (0, 0)
    for (name, record) in zoneData[zone]?.records ?? [:] where record.isAlive {
      let hash = record.canonicalBytes(name).withUnsafeBytes { cryptography.hash128($0) }
      count += 1
      low &+= hash.0
      high &+= hash.1
    }
    return ZoneDigest(records: count, low: low, high: high)
  }

  /// Returns the merged state of one record.
  package func record(_ name: RecordName, zone: ZoneID) -> RecordState<String>? { zoneData[zone]?.records[name] }

  package func saveAcknowledgement(_ bytes: [UInt8], device: DeviceID, time: HybridTime, zone: ZoneID) {
    if let known = zoneData[zone]?.acknowledgements[device], known.time >= time { return }
    zoneData[zone]?.acknowledgements[device] = (time, bytes)
  }

  package func acknowledgements(_ zone: ZoneID) -> [DeviceID: [UInt8]] {
    zoneData[zone]?.acknowledgements.mapValues(\.bytes) ?? [:]
  }

  // MARK: Schema of others

  /// Returns the descriptions that a test gives, because rows have no declared form here.
  package func schemaDescriptions() -> [SchemaDescription] { schemas }

  package func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) -> [String] {
    foreignSchemas[device] = descriptions
    for description in descriptions where isOwn {
      guard let place = schemas.firstIndex(where: { $0.name == description.name }) else { continue }
      for setting in description.policies {
        let known = schemas[place].policies.firstIndex { $0.column == setting.column }
        if let known, schemas[place].policies[known].time >= setting.time { continue }
        if let known { schemas[place].policies.remove(at: known) }
        schemas[place].policies.append(setting)
      }
    }
    if !isOwn, let owner = certified.account(certifying: device) {
      saveOwnerPolicies(descriptions.map { NamedPolicies(table: $0.name, policies: $0.policies) }, of: owner)
    }
    return []
  }

  package func setAccounts(_ accounts: Accounts, device: DeviceID) {
    (certified, self.device) = (accounts, device)
  }

  package func ownerPolicies() -> [AccountID: [NamedPolicies]] {
    policiesOfOwners.mapValues { tables in
      tables.sorted { $0.key < $1.key }.map { table, settings in
        NamedPolicies(table: table, policies: settings.values.sorted { $0.column < $1.column })
      }
    }
  }

  package func saveOwnerPolicies(_ policies: [NamedPolicies], of owner: AccountID) {
    for table in policies {
      for setting in table.policies {
        policiesOfOwners[owner, default: [:]][table.table, default: [:]].merge([setting.column: setting]) {
          $0.time < $1.time ? $1 : $0
        }
      }
    }
  }
}

extension RecordState where Column == String {
  /// Returns the one encoding of a state, which all stores share (see MeshStore's Tables). A stamp is written only if
  /// it differs from that of the column before.
  func canonicalBytes(_ name: RecordName) -> [UInt8] {
    var writer = ByteWriter()
    writer.text(name.table.asciiLowercased)
    name.key.write(to: &writer)
    writer.varint(generation)
    var before: Stamp?
    for (column, cell) in cells.map({ ($0.key.folded.bytes, $0.value) })
      .sorted(by: { $0.0.lexicographicallyPrecedes($1.0) })
    {
      writer.sized(column)
      if cell.stamp == before {
        writer.byte(0)
      } else {
        writer.byte(1)
        writer.uint64(cell.stamp.time.value)
        cell.stamp.author.write(to: &writer)
        before = cell.stamp
      }
      cell.value.write(to: &writer)
    }
    return writer.bytes
  }
}
