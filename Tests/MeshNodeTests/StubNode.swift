import Foundation
import MeshNode

/// A node with fixed answers, which says in `notes` what reached it.
struct StubNode: NodeControl {
  static let when = Date(timeIntervalSince1970: 1_790_000_000)

  static let peer = PeerReport(
    device: "device-2", account: "account-1", name: "laptop", address: "127.0.0.1:1", connected: true,
    behind: .init(here: 1, there: 2), lastError: nil)
  static let zone = ZoneReport(
    id: "zone-1", name: "private", owner: "account-1", role: .owner, records: 7, vector: ["device-1.1": 3], digest: "ab"
  )

  func status() async throws -> StatusReport {
    StatusReport(
      running: true, account: "account-1", accountName: "alice", device: "device-1", deviceName: "tower",
      instance: nil, database: "/n.db", listen: "127.0.0.1:7404", pending: 4, held: ["parent missing": 2],
      zones: [Self.zone], peers: [Self.peer])
  }

  func backup(to file: String) async throws -> BackupReport {
    BackupReport(
      file: file, bytes: 4_096, database: "/n.db", home: "/home", tables: ["notes"], lackingAssets: LackingAssets())
  }

  func doctor(deep: Bool) async throws -> DoctorReport {
    DoctorReport(checks: [HealthCheck("stub", deep ? .alarm : .ok, "looked", figures: ["looks": 1])])
  }

  func conflicts(_ request: ConflictsRequest) async throws -> ConflictsReport {
    let side = ConflictReport.Side(value: .text("milk"), device: "device-1", deviceName: nil, written: Self.when)
    return ConflictsReport(
      conflicts: [
        ConflictReport(
          id: 7, zone: "zone-1", table: request.table ?? "notes", key: .text("n1"), column: "title", winner: side,
          loser: side,
          found: Self.when)
      ], total: request.limit ?? 1, next: request.after)
  }

  static let hold = HoldReport(
    reason: "missing-parent", message: nil, since: when,
    waitsFor: [.init(table: "lists", key: .text("l1"), zone: nil)], wayOut: "wait")

  func held() async throws -> HeldReport {
    HeldReport(
      counts: ["missing-parent": 1],
      records: [.init(zone: "zone-1", zoneName: "private", table: "notes", key: .text("n1"), hold: Self.hold)],
      complete: true)
  }

  static let assets = AssetsReport(
    waiting: [
      .init(
        asset: "asset-1", size: 900_000, here: 262_144, zone: "zone-1", table: "photos", key: .text("p1"),
        column: "image", state: .coming, sources: [.init(device: "device-2", name: "laptop")], speed: 100_000,
        secondsLeft: 6.4, writtenBy: .init(device: "device-2", name: nil),
        lastSource: .init(device: "device-2", name: "laptop", left: when))
    ], complete: true, received: 262_144, speed: 100_000)

  func assets() async throws -> AssetsReport { Self.assets }

  private func asset(_ request: AssetRequest, _ state: AssetsReport.State) -> AssetReport {
    AssetReport(assets: [
      .init(
        asset: "asset-1", size: 1, here: 1, zone: "zone-1", table: request.table, key: .text(request.key ?? ""),
        column: request.column ?? "all", state: state, reason: request.force ? "forced" : nil)
    ])
  }

  func assetShow(_ request: AssetRequest) async throws -> AssetReport { asset(request, .here) }
  func assetFetch(_ request: AssetRequest) async throws -> AssetReport { asset(request, .coming) }
  func assetEvict(_ request: AssetRequest) async throws -> AssetReport { asset(request, .evicted) }
  func assetPolicies() async throws -> AssetPoliciesReport { AssetPoliciesReport(policies: ["photos": .onDemand]) }

  func setAssetPolicy(_ policy: AssetPoliciesReport.Policy, table: String) async throws -> AssetPoliciesReport {
    AssetPoliciesReport(policies: [table: policy])
  }

  func heldRetry() async throws -> RetryReport { RetryReport(tried: 3, shown: 2) }

  func heldResolve(_ request: ResolveRequest) async throws -> ResolveReport {
    ResolveReport(
      zone: request.zone ?? "zone-1", table: request.table, key: .text(request.key),
      values: request.values.mapValues { .text($0) })
  }

  func heldDiscard(_ request: DiscardRequest) async throws -> DiscardReport {
    DiscardReport(
      discarded: request.keys.map { .init(zone: request.zone ?? "zone-1", table: request.table, key: .text($0)) })
  }

  func restore(_ request: RestoreRequest) async throws -> RestoreReport {
    RestoreReport(
      table: request.table ?? "notes", key: .text(request.key ?? "\(request.conflict ?? 0)"), deleted: false,
      values: ["a": .integer(1)], lacking: request.columns ?? [], waitsFor: [])
  }

  func verify(timeout: Duration) async throws -> VerifyReport { throw Refusal.noMember }

  /// Never in time, unless it is told to stop; then with what is missing.
  func wait(timeout: Duration) async throws -> WaitReport {
    try await Task.sleep(for: timeout)
    return WaitReport(pending: 1, tooLong: 0, members: [])
  }

  func track(_ request: TrackRequest) async throws -> TrackReport {
    TrackReport(
      tables: request.tables.map {
        .init(name: $0, isPrivate: false, isShareable: true, rows: request.integerKeys ? 1 : 0)
      }
        + request.privateTables.map { .init(name: $0, isPrivate: true, isShareable: false, rows: 0) })
  }

  func rescan(_ tables: [String]) async throws -> RescanReport {
    RescanReport(tables: tables, rows: 3, differences: 1)
  }
  func untrack(_ tables: [String]) async throws -> UntrackReport { UntrackReport(tables: tables) }

  func schema(apply: Bool) async throws -> SchemaReport { SchemaReport(applied: apply, missing: []) }

  func deviceInvite(expires: Duration) async throws -> InviteReport {
    InviteReport(link: "mesh-device-x", expires: Self.when.addingTimeInterval(expires.inSeconds), addresses: ["a:1"])
  }

  func deviceList() async throws -> DevicesReport {
    DevicesReport(devices: [.init(device: "device-1", name: "tower", isThis: true, certified: Self.when, revoked: nil)])
  }

  func deviceRevoke(_ device: String) async throws -> RevokeReport {
    guard device == "device-2" else {
      throw Refusal(code: "device.unknown", message: "No device is called \(device).\nSee mesh device list.")
    }
    return RevokeReport(device: device, name: "laptop", revoked: Self.when, zones: ["zone-1"])
  }

  func deviceChange(_ request: DeviceChangeRequest) async throws -> DevicesReport.Device {
    .init(
      device: request.device, name: "laptop", isThis: false, certified: Self.when, revoked: nil,
      isAdministrator: request.act == .promote)
  }

  func accountReplaceKey(_ request: ReplaceKeyRequest) async throws -> ReplaceKeyReport {
    ReplaceKeyReport(generation: request.readmit?.count ?? 0, devices: [])
  }

  func deviceRestamp() async throws -> RestampReport {
    RestampReport(zones: [.init(zone: "zone-1", name: "private", changeSets: 3)])
  }

  static let share = ShareReport(
    id: "zone-2", title: "list", table: "lists", key: .text("a"), owner: "account-1", role: .owner, stopped: false,
    reason: nil,
    records: 3, epoch: nil, lastActivity: when,
    participants: [
      .init(
        account: "account-2", status: "accepted", permission: "read-only",
        devices: [.init(device: "device-3", name: "van")])
    ], invites: [])

  func shares() async throws -> SharesReport { SharesReport(shares: [Self.share]) }
  func shareCreate(_ request: ShareCreateRequest) async throws -> ShareReport { Self.share }

  func shareInvite(_ request: ShareInviteRequest) async throws -> ShareInviteReport {
    ShareInviteReport(share: request.share, invite: "control-1", link: "mesh-share-x", addresses: ["a:1"])
  }

  func shareJoin(_ request: ShareJoinRequest) async throws -> ShareJoinReport {
    ShareJoinReport(
      state: request.claims ? .joined : .offered, share: "zone-2", title: "list", owner: "account-1",
      table: "lists", key: .text("a"), permission: "read-only")
  }

  func shareChange(_ request: ShareChangeRequest) async throws -> ShareReport { Self.share }
  func share(_ share: String) async throws -> ShareReport { Self.share }

  func shareReceipt(_ request: ShareReceiptRequest) async throws -> ShareReceiptReport {
    ShareReceiptReport(
      receipts: [
        .init(table: "lists", key: .text(request.share), values: ["a": .null], reason: "cut", noted: Self.when)
      ], restored: request.restore == true ? 1 : 0, discarded: request.discard == true ? 1 : 0)
  }

  func explain(_ request: RecordRequest) async throws -> RecordReport {
    let by = RecordReport.Writer(device: "device-1", deviceName: nil, account: "account-1", written: nil)
    return RecordReport(records: [
      .init(
        zone: "zone-1", zoneName: "private", table: request.table, key: .text(request.key), generation: 1,
        deleted: false, hold: Self.hold, by: by,
        columns: [.init(name: "a", value: .null, by: by, beat: .init(value: .integer(1), by: by, seen: true))])
    ])
  }

  func accountShow() async throws -> AccountReport {
    struct Surprise: Error { let secret = "row value" }
    throw Surprise()
  }
}
