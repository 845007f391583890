import Foundation
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// Answers commands with the node itself, in the daemon and on the home alone.
extension Node {
  func status() async throws -> StatusReport {
    let lock = try await lockCheck()
    let zone = try replica.privateZone.flatMap { try replica.zoneView($0) }
    return StatusReport(
      running: listening != nil, account: replica.account.id.description, accountName: zone?.title ?? "",
      device: replica.device.description, deviceName: plainName(replica.device) ?? "",
      instance: zone?.author?.instance.description, database: store.path,
      listen: listening?.description,
      tables: try store.tables().map(\.name), pending: try store.pendingCount(), held: try heldCounts(),
      work: try store.workInProgress().map {
        WorkReport(task: WorkReport.Task($0.task), table: $0.table, done: $0.done, total: $0.total)
      },
      receipts: try receipts(),
      ended: Dictionary(endedShares.map { ($0.zone.description, $0.reason) }, uniquingKeysWith: { $1 }),
      assets: try lackingAssets(), fetching: try fetchingAssets(),
      keptBlobs: KeptBlobs(bytes: try store.overwrittenBytes(), limit: configuration.keptBlobs),
      quotas: try quotas(), alarms: try alarms(), warnings: warnings(lock),
      zones: try zoneReports(), peers: try peerReports())
  }

  func zoneReports() throws -> [ZoneReport] { try replica.zoneIDs.compactMap { try zoneReport($0) } }

  /// Returns the receipt counts of shares, which have a command that shows them.
  func receipts() throws -> [String: Int] {
    let shares = try store.receiptCounts().filter { zone, _ in replica.shareState(zone) != nil }
    return Dictionary(shares.map { ($0.key.description, $0.value) }, uniquingKeysWith: +)
  }

  /// Returns the alarms of the doctor that don't need the schema, because they are requested often.
  private func alarms() throws -> [String] {
    let checks =
      try [configurationCheck(), workCheck(), logCheck()] + deviceChecks() + zoneChecks() + clockChecks()
      + digestChecks()
    return checks.filter { $0.state == .alarm }.map(Self.text)
  }

  private func warnings(_ lock: HealthCheck?) -> [String] {
    ([configurationCheck()] + (lock.map { [$0] } ?? []) + historyChecks() + refusalChecks()).filter {
      $0.state == .warning
    }.map(Self.text)
  }

  private static func text(_ check: HealthCheck) -> String {
    [check.what, check.wayOut].compactMap(\.self).joined(separator: " ")
  }

  private func zoneReport(_ id: ZoneID) throws -> ZoneReport? {
    // After a share has ended for this account, only its log is here.
    guard replica.reasonOutside(id) == nil, let view = try replica.zoneView(id) else { return nil }
    let vector = view.merged.numbers.map { ($0.key.description, $0.value) }
    return ZoneReport(
      id: id.description, name: view.title, owner: view.owner?.description ?? "",
      role: view.owner == replica.account.id
        ? .owner : replica.shareState(id)?.permission(replica.account.id) == .readWrite ? .readWrite : .readOnly,
      records: Int(view.digest.records),
      vector: Dictionary(vector, uniquingKeysWith: max), digest: Self.hexadecimal(view.digest.hash))
  }

  func peerReports() throws -> [PeerReport] {
    var reports: [PeerReport] = []
    var connected: Set<DeviceID> = []
    for peer in replica.peerViews {
      connected.insert(peer.device)
      reports.append(
        PeerReport(
          device: peer.device.description, account: peer.account.description, name: name(of: peer),
          address: peer.address, connected: true, behind: try behind(peer), assets: lackingAssets(peer), lastError: nil,
          acknowledgedZones: peer.zones.filter { peer.acknowledged[$0] != nil }.map(\.description).sorted()))
    }
    let dialled = dials.sorted { $0.key.description < $1.key.description }.map { address, dial in
      (address: address, device: dial.device ?? knownPeers.device(at: address), lastError: dial.lastError)
    }
    let absent = Set(dialled.compactMap(\.device)).union(replica.account.liveDevices)
      .subtracting(connected).subtracting([replica.device])
    let last = try lastAcknowledgements(of: absent)
    for (address, device, lastError) in dialled {
      if let device, connected.contains(device) { continue }
      let known = device.flatMap { last[$0] } ?? LastAcknowledgement()
      reports.append(
        PeerReport(
          device: device?.description,
          account: device.flatMap { replica.certificate(of: $0)?.account.description },
          name: device.flatMap(deviceName), address: address.description, connected: false, behind: known.behind,
          lastError: lastError, acknowledgedZones: known.zones.map(\.description).sorted()))
      if let device { connected.insert(device) }
    }
    for device in replica.account.liveDevices where device != replica.device && !connected.contains(device) {
      let known = last[device] ?? LastAcknowledgement()
      reports.append(
        PeerReport(
          device: device.description, account: replica.account.id.description, name: deviceName(device), address: nil,
          connected: false, behind: known.behind, lastError: nil,
          acknowledgedZones: known.zones.map(\.description).sorted()))
    }
    return reports
  }

  /// The change sets that a disconnected device had, as its last acknowledgements tell.
  private struct LastAcknowledgement {
    /// The changes that this node has and that the device didn't have.
    var behind = PeerReport.Behind(here: 0, there: 0)
    /// The zones in which the device acknowledged something.
    var zones: [ZoneID] = []
  }

  /// Returns the last acknowledgements of disconnected devices. Only zones in which both are members count.
  private func lastAcknowledgements(of devices: Set<DeviceID>) throws -> [DeviceID: LastAcknowledgement] {
    var last: [DeviceID: LastAcknowledgement] = [:]
    guard !devices.isEmpty else { return last }
    for zone in replica.zoneIDs where replica.isMember(replica.account.id, of: zone) {
      let members = devices.filter { device in
        replica.certificate(of: device).map { replica.isMember($0.account, of: zone) } ?? false
      }
      guard !members.isEmpty, let view = try replica.zoneView(zone) else { continue }
      let saved = try store.acknowledgements(zone)
      for device in members {
        var merged = VersionVector()
        if let bytes = saved[device] {
          var reader = ByteReader(bytes)
          merged = try Acknowledgement(from: &reader).merged
          last[device, default: LastAcknowledgement()].zones.append(zone)
        }
        last[device, default: LastAcknowledgement()].behind += PeerReport.Behind(
          counted: merged.count(beyond: view.merged), there: view.merged.count(beyond: merged))
      }
    }
    return last
  }

  private func behind(_ peer: Replica.PeerView) throws -> PeerReport.Behind {
    var behind = PeerReport.Behind(here: 0, there: 0)
    for zone in peer.zones { behind += try self.behind(peer, zone) }
    return behind
  }

  func behind(_ peer: Replica.PeerView, _ zone: ZoneID) throws -> PeerReport.Behind {
    guard let view = try replica.zoneView(zone) else { return PeerReport.Behind(here: 0, there: 0) }
    let theirs = peer.merged[zone] ?? VersionVector()
    return PeerReport.Behind(
      counted: theirs.count(beyond: view.merged),
      there: view.merged.count(beyond: peer.acknowledged[zone] ?? VersionVector()))
  }

  // MARK: Proof

  func verify(timeout: Duration) async throws -> VerifyReport {
    let deadline = ContinuousClock.now + timeout
    replica.requestDigests()
    performActions()
    var asked = ContinuousClock.now
    while true {
      lookAtDatabase()
      if let suspension { throw suspension }
      let comparisons = try comparisons()
      let isOver = ContinuousClock.now >= deadline
      if comparisons.isEmpty, isOver || !mayConnect { throw noMember }
      let locked = lockedBy
      if isOver || locked == nil && !comparisons.isEmpty && comparisons.allSatisfy(\.isDecided) {
        return VerifyReport(
          comparisons: comparisons.map(\.comparison), locked: locked,
          older: try store.refusedRecords(limit: Self.olderNamed).map {
            VerifyReport.Older(zone: $0.zone.description, table: $0.table, key: ReportedValue($0.key))
          }, olderCount: try store.refusedCount(), held: try heldCounts())
      }
      try await Task.sleep(for: Self.look)
      if ContinuousClock.now - asked > Self.askAgain {
        replica.requestDigests()
        performActions()
        asked = .now
      }
    }
  }

  static let look = Duration.milliseconds(20)
  private static let askAgain = Duration.milliseconds(500)
  /// The maximum number of records that `verify` names because their rows are older than the merged values.
  private static let olderNamed = 100

  /// Compares this node with each member in each zone. A comparison is undecided if the member may still report
  /// something else.
  private func comparisons() throws -> [(comparison: VerifyReport.Comparison, isDecided: Bool)] {
    try replica.peerViews.flatMap { peer in
      try peer.zones.compactMap { zone in
        guard let view = try replica.zoneView(zone) else { return nil }
        let theirs = peer.digests[zone]
        let (unsentHere, unsentThere) = (try store.unsent(zone), theirs?.unsent ?? .nothing)
        let isComparable = theirs?.vector == view.merged && unsentHere != .pending && unsentThere != .pending
        let outcome: VerifyReport.Comparison.Outcome =
          if isComparable, theirs?.digest != view.digest {
            .unequal
          } else if unsentHere != .nothing {
            .unsentHere
          } else if unsentThere != .nothing {
            .unsentThere
          } else {
            isComparable ? .equal : .notInTime
          }
        let comparison = VerifyReport.Comparison(
          zone: zone.description, device: peer.device.description, name: name(of: peer), outcome: outcome,
          here: Self.hexadecimal(view.digest.hash), there: theirs.map { Self.hexadecimal($0.digest.hash) })
        return (comparison, isComparable)
      }
    }
  }

  /// The message about a program that currently has the write lock, with what to do, or nil if none has.
  var lockedBy: String? { lock.map { "\($0) \(Self.wayOutOfLock)" } }

  static let wayOutOfLock = "End the transaction, or the program."

  /// The message about a program that currently has the write lock, or nil if none has.
  var lock: String? {
    guard store.isWriteLocked else { return nil }
    let names = store.writers.map { "process \($0.pid) (\(printable($0.program)))" }
    let who = names.isEmpty ? "another program" : names.joined(separator: ", ")
    return "\(store.path) is locked by \(who): nothing is flushed or merged before its transaction ends."
  }

  // MARK: Tables

  /// The time for flushing tracked rows without a daemon. A daemon flushes the rest of a large table.
  private static let flushPatience = Duration.controlTimeout

  func track(_ request: TrackRequest) throws -> TrackReport {
    try beginGuard()
    let known = Set(try store.tables().map(\.name))
    let policies = try request.policies.mapValues { columns in
      try columns.mapValues { name in
        guard let policy = ColumnPolicy(name: name) else { throw Self.unknownPolicy(name) }
        return policy
      }
    }
    // `track` lists what is wrong with a table, which may be that it doesn't exist.
    try store.checkPolicies(policies.filter { try store.hasTable($0.key) })
    let tables = try store.track(
      tables: request.tables, private: request.privateTables, integerKeys: request.integerKeys, now: time.milliseconds()
    )
    if !policies.isEmpty { try store.setPolicies(policies, now: time.milliseconds()) }
    try replica.schemaChanged()
    // Imported rows become records now, so that a row that is deleted next can be restored. If that fails, the rows
    // stay pending, and the daemon flushes them.
    if listening == nil { _ = try? workAlone(until: .now + Self.flushPatience) }
    return TrackReport(
      tables: tables.map { table in
        TrackReport.Table(
          name: table.name, isPrivate: table.isPrivate, isShareable: table.isShareable,
          rows: known.contains(table.name) ? 0 : table.rows)
      })
  }

  private static func unknownPolicy(_ name: String) -> Refusal {
    let known = ColumnPolicy.allCases.map(\.name).joined(separator: ", ")
    return Refusal(
      code: "policy.unknown", message: "There is no policy \(printable(name)). The policies are \(known).")
  }

  func untrack(_ tables: [String]) throws -> UntrackReport {
    try beginGuard()
    replica.databaseChanged()
    while try replica.work(now: time.now) { performActions() }
    guard try store.pendingCount() == 0 else {
      throw Refusal(
        code: "rows.pending",
        message:
          "Rows are pending that can't be signed now, and untracking would lose them. See mesh status for the reason.")
    }
    try store.untrack(tables)
    try replica.schemaChanged()
    return UntrackReport(tables: tables)
  }

  func rescan(_ tables: [String]) async throws -> RescanReport {
    try beginGuard()
    let before = replica.compared
    try store.rescan(tables: tables)
    replica.databaseChanged()
    while try store.isComparing() {
      guard try replica.work(now: time.now) else {
        throw Refusal(
          code: "rows.pending",
          message: "Rows are pending that can't be signed now, and more can't be noted. See mesh status for the reason."
        )
      }
      performActions()
      // Peers and other commands have their turn.
      await Task.yield()
    }
    return RescanReport(
      tables: try tables.isEmpty ? store.tables().map(\.name) : tables, rows: replica.compared.rows - before.rows,
      differences: replica.compared.differences - before.differences)
  }

  func schema(apply: Bool) async throws -> SchemaReport {
    let missing = try store.missingSchema(trusts: isTrusted)
    var refusedParts = apply ? [] : missing.flatMap(\.leftOut)
    if apply, missing.contains(where: { $0.refusal == nil }) {
      try beginGuard()
      // Schemas that peers describe in the meantime were not examined.
      let taken = Set(missing.filter { $0.refusal == nil }.map(\.table.folded))
      if missing.contains(where: { $0.former != nil }) {
        let wanted = try store.foreignSchemas(trusts: isTrusted).filter { taken.contains($0.name.folded) }
        let former = try store.renameTables(wanted, trusts: isTrusted)
        if !former.isEmpty { _ = try untrack(former) }
      }
      var hasMore = true
      while hasMore {
        let wanted = try store.foreignSchemas(trusts: isTrusted).filter { taken.contains($0.name.folded) }
        let adoption = try store.adopt(wanted, trusts: isTrusted, now: time.milliseconds())
        refusedParts += adoption.leftOut
        hasMore = adoption.hasMore
        try replica.schemaChanged()
        performActions()
        // Peers, programs and other commands have their turn.
        if hasMore { try await Task.sleep(for: WorkLoop.turn) }
      }
    }
    return SchemaReport(
      applied: apply,
      missing: missing.map {
        SchemaReport.Missing(
          table: $0.table, exists: $0.exists, former: $0.former, columns: $0.columns, statements: $0.statements,
          refusal: $0.refusal)
      },
      different: try foreignSchemas().map { different in
        SchemaReport.Difference(
          table: different.table, column: different.column, device: different.device.description,
          name: deviceName(different.device), here: different.here, there: different.there)
      }, leftOut: try store.leftOut(trusts: isTrusted) + refusedParts,
      policies: try store.columnPolicies().map {
        SchemaReport.Policy(table: $0.table, column: $0.column, policy: $0.policy.name)
      })
  }

  /// Returns whether the device belongs to this account, or to the owner of a share in which it participates.
  func isTrusted(_ device: DeviceID) -> Bool {
    guard let account = replica.certificate(of: device)?.account, !replica.isRevoked(device) else { return false }
    return account == replica.account.id
      || replica.zoneIDs.contains {
        replica.owner(of: $0) == account && replica.shareState($0)?.permission(replica.account.id) != nil
      }
  }

  /// Returns the schema differences of other devices. Those of revoked devices don't matter.
  func foreignSchemas() throws -> [Store.SchemaDifference] {
    try store.schemaDifferences(trusts: isTrusted).filter {
      deviceName($0.device) != nil && !replica.isRevoked($0.device)
    }
  }

  // MARK: Account

  func deviceInvite(expires: Duration) throws -> InviteReport {
    guard let listening else {
      throw Refusal(
        code: "daemon.needed", message: "An invite needs a running daemon to answer it: start one with mesh serve.",
        exit: .daemonNeeded)
    }
    let addresses = LocalAddresses.toAdvertise(listening, configured: configuration.advertise)
    let now = time.now
    let link = try replica.devices.issueLink(
      expires: now.wall + Int64(expires.inSeconds * 1_000), addresses: addresses, now: now)
    return InviteReport(link: link.text, expires: Self.date(link.expires), addresses: addresses)
  }

  func deviceList() -> DevicesReport {
    let devices = replica.account.certificates.values.sorted { ($0.issued, $0.device) < ($1.issued, $1.device) }
    return DevicesReport(devices: devices.map(report))
  }

  private func report(_ certificate: Certificate) -> DevicesReport.Device {
    let account = replica.account
    return DevicesReport.Device(
      device: certificate.device.description, name: printable(certificate.request.name),
      isThis: certificate.device == replica.device, certified: Self.date(certificate.issued),
      revoked: account.revocations[certificate.device].map { Self.date($0.issued) },
      isAdministrator: account.administratorAuthority(certificate.device) != nil,
      isUnconfirmed: account.isUnconfirmed(certificate.device))
  }

  func deviceChange(_ request: DeviceChangeRequest) throws -> DevicesReport.Device {
    let device = try device(named: request.device)
    switch request.act {
    case .promote: try replica.administration.promote(device, now: time.now)
    case .demote: try replica.administration.demote(device, now: time.now)
    case .confirm: try replica.administration.confirm(device, now: time.now)
    }
    try home.write(.accountState, replica.account.encoded)
    guard let certificate = replica.account.certificates[device] else {
      throw ReplicaError.unknownDevice("the account has no device \(device)")
    }
    return report(certificate)
  }

  func accountReplaceKey(_ request: ReplaceKeyRequest) throws -> ReplaceKeyReport {
    let recovery: RecoveryKey
    do throws(CryptoError) {
      recovery = try RecoveryKey(text: request.recovery)
    } catch {
      throw Refusal(code: "recovery.mistyped", message: "\(error.message).", exit: .usage)
    }
    let readmitted = Set(try (request.readmit ?? []).map(device(named:)))
    try AccountKeyFile(home: home).replace(
      in: replica, recovery: recovery, readmitting: readmitted, randomness: try Sodium(), now: time.now)
    return ReplaceKeyReport(
      generation: Int(replica.account.keyAuthority.generation), devices: deviceList().devices)
  }

  func deviceRevoke(_ text: String) throws -> RevokeReport {
    let device = try device(named: text)
    try replica.administration.revoke(device, now: time.now)
    try home.write(.accountState, replica.account.encoded)
    let zones = try replica.zoneIDs.filter { try replica.zoneView($0)?.cuts.contains(device) ?? false }
    return RevokeReport(
      device: device.description, name: plainName(device) ?? "",
      revoked: Self.date(replica.account.revocations[device]?.issued ?? time.milliseconds()),
      zones: zones.map(\.description))
  }

  func deviceRestamp() throws -> RestampReport {
    let taken = try replica.restamping.restamp(now: time.now)
    return RestampReport(
      zones: try taken.sorted { $0.key < $1.key }.map { zone, count in
        RestampReport.Zone(
          zone: zone.description, name: try replica.zoneView(zone)?.title ?? "", changeSets: count)
      })
  }

  func accountShow() throws -> AccountReport {
    let devices = deviceList().devices
    return AccountReport(
      account: replica.account.id.description,
      name: try replica.privateZone.flatMap { try replica.zoneView($0) }?.title ?? "",
      device: replica.device.description, deviceName: plainName(replica.device) ?? "",
      holdsAccountKey: replica.administration.holdsAccountKey,
      keyHolder: replica.account.successor == nil ? devices.first.map { "\($0.name) (\($0.device))" } : nil,
      administrators: devices.filter(\.isAdministrator).map { "\($0.name) (\($0.device))" },
      recoveryWaiting: try home.exists(.recoveryKey), devices: replica.account.liveDevices.count)
  }

  /// Returns a device by its displayed id, or by its name if exactly one device has it.
  private func device(named text: String) throws -> DeviceID {
    let all = replica.account.certificates.values
    if let device = try DeviceID.named(text, among: all.map(\.device)) { return device }
    let id = DeviceID.canonical(text)
    if id.hasPrefix("\(DeviceKind.prefix)-"), let fault = DeviceID.fault(inDisplayed: id) {
      throw Refusal(code: "device.mistyped", message: "\(printable(text)) is not a device's id: \(fault).")
    }
    let named = all.filter { $0.request.name == text }
    if let only = named.first, named.count == 1 { return only.device }
    let why =
      named.count > 1
      ? "\(named.count) devices have that name: give the id" : "the account has no device with that id or name"
    throw Refusal(code: "device.unknown", message: "\(printable(text)): \(why). See mesh device list.")
  }

  /// Returns the name of a device, followed by the beginning of its id if another device of the account has the same
  /// name.
  func deviceName(_ device: DeviceID) -> String? {
    guard let name = plainName(device) else { return nil }
    return namesakes(of: device).isEmpty ? name : "\(name) (\(device.description.prefix(Self.idBeginning)))"
  }

  /// Returns the name of a device for a place that shows the id beside it.
  private func plainName(_ device: DeviceID) -> String? {
    replica.certificate(of: device).map { printable($0.request.name) }
  }

  func name(of peer: Replica.PeerView) -> String { deviceName(peer.device) ?? printable(peer.name) }

  /// The length of a displayed beginning of an id: the prefix and eight characters.
  private static let idBeginning = DeviceKind.prefix.count + 1 + 8

  /// Returns the account's other devices with the same name.
  func namesakes(of device: DeviceID) -> [DeviceID] {
    guard let name = replica.account.certificates[device]?.request.name else { return [] }
    return replica.account.liveDevices.filter { $0 != device && replica.account.certificates[$0]?.request.name == name }
  }

  static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

extension ReportedValue {
  init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let bits): self = .real(Double(bitPattern: bits))
    case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
    case .blob(let bytes): self = .blob(bytes)
    case .asset(let asset): self = .asset(asset.id.description, size: asset.size)
    }
  }
}

extension WorkReport.Task {
  init(_ task: WorkInProgress.Task) {
    switch task {
    case .takeIn: self = .takeIn
    case .compare: self = .compare
    case .recall: self = .recall
    case .show: self = .show
    }
  }
}
