/// A running daemon, asked through its control socket.
///
/// Every call opens its own connection. Beside the refusals of `NodeControl` it throws `ControlClientError`.
public struct ControlClient: NodeControl {
  private let socket: String

  /// `socket` is the path of the home's control socket.
  public init(socket: String) { self.socket = socket }

  /// What the daemon may take beyond the time it was given itself, or for what is quickly done: it may be in the middle
  /// of a long apply, on a slow disk.
  static let margin = Duration.seconds(30)

  /// Taking in the rows of large tables takes minutes, not hours.
  static let longWork = Duration.seconds(3_600)

  private struct Nothing: Encodable {}

  private func get<Answer: Decodable & Sendable>(_ path: String, limit: Duration = margin) async throws -> Answer {
    try await exchange(.init(method: .get, path: path, body: [], limit: limit))
  }

  private func post<Answer: Decodable & Sendable>(
    _ path: String, _ body: some Encodable, limit: Duration = margin
  ) async throws -> Answer {
    try await exchange(.init(method: .post, path: path, body: try ControlJSON.encode(body), limit: limit))
  }

  private func exchange<Answer: Decodable & Sendable>(_ exchange: ControlExchange) async throws -> Answer {
    let (isSuccess, bytes) = try await exchange.run(on: socket)
    guard isSuccess else {
      guard let envelope = try? ControlJSON.decode(RefusalEnvelope.self, from: bytes) else {
        throw ControlClientError.garbled(exchange.path)
      }
      throw envelope.error
    }
    guard let answer = try? ControlJSON.decode(Answer.self, from: bytes) else {
      throw ControlClientError.garbled(exchange.path)
    }
    return answer
  }
}

extension ControlClient {
  public func status() async throws -> StatusReport { try await get("/v1/status") }
  public func peers() async throws -> PeersReport { try await get("/v1/peers") }
  public func zones() async throws -> ZonesReport { try await get("/v1/zones") }
  public func conflicts(_ request: ConflictsRequest) async throws -> ConflictsReport {
    try await post("/v1/conflicts", request)
  }

  public func held() async throws -> HeldReport { try await get("/v1/held") }

  public func heldRetry() async throws -> RetryReport {
    try await post("/v1/held/retry", Nothing(), limit: Self.longWork)
  }

  public func heldResolve(_ request: ResolveRequest) async throws -> ResolveReport {
    try await post("/v1/held/resolve", request)
  }

  public func heldDiscard(_ request: DiscardRequest) async throws -> DiscardReport {
    try await post("/v1/held/discard", request)
  }

  public func assets() async throws -> AssetsReport { try await get("/v1/assets") }

  public func assetShow(_ request: AssetRequest) async throws -> AssetReport {
    try await post("/v1/assets/show", request)
  }

  public func assetFetch(_ request: AssetRequest) async throws -> AssetReport {
    try await post("/v1/assets/fetch", request)
  }

  public func assetEvict(_ request: AssetRequest) async throws -> AssetReport {
    try await post("/v1/assets/evict", request, limit: Self.longWork)
  }

  public func assetPolicies() async throws -> AssetPoliciesReport { try await get("/v1/assets/policy") }

  public func setAssetPolicy(_ policy: AssetPoliciesReport.Policy, table: String) async throws -> AssetPoliciesReport {
    try await post("/v1/assets/policy", AssetPolicyRequest(table: table, policy: policy))
  }

  public func restore(_ request: RestoreRequest) async throws -> RestoreReport {
    try await post("/v1/restore", request, limit: Self.longWork)
  }

  public func backup(to file: String) async throws -> BackupReport {
    try await post("/v1/backup", BackupRequest(file: file), limit: Self.longWork)
  }

  public func explain(_ request: RecordRequest) async throws -> RecordReport {
    try await post("/v1/explain/record", request, limit: Self.longWork)
  }

  public func doctor(deep: Bool) async throws -> DoctorReport {
    deep ? try await get("/v1/doctor/deep", limit: Self.longWork) : try await get("/v1/doctor")
  }

  public func verify(timeout: Duration) async throws -> VerifyReport {
    try await post("/v1/verify", TimeoutRequest(timeoutSeconds: timeout.inSeconds), limit: timeout + Self.margin)
  }

  public func wait(timeout: Duration) async throws -> WaitReport {
    try await post("/v1/wait", TimeoutRequest(timeoutSeconds: timeout.inSeconds), limit: timeout + Self.margin)
  }

  public func track(_ request: TrackRequest) async throws -> TrackReport {
    try await post("/v1/track", request, limit: Self.longWork)
  }

  public func rescan(_ tables: [String]) async throws -> RescanReport {
    try await post("/v1/rescan", RescanRequest(tables: tables), limit: Self.longWork)
  }

  public func untrack(_ tables: [String]) async throws -> UntrackReport {
    try await post("/v1/untrack", UntrackRequest(tables: tables), limit: Self.longWork)
  }

  public func schema(apply: Bool) async throws -> SchemaReport {
    apply ? try await post("/v1/schema", Nothing(), limit: Self.longWork) : try await get("/v1/schema")
  }

  public func deviceInvite(expires: Duration) async throws -> InviteReport {
    try await post("/v1/devices/invite", InviteRequest(expiresSeconds: expires.inSeconds))
  }

  public func deviceList() async throws -> DevicesReport { try await get("/v1/devices") }

  public func deviceRestamp() async throws -> RestampReport {
    try await post("/v1/devices/restamp", Nothing())
  }

  public func deviceRevoke(_ device: String) async throws -> RevokeReport {
    try await post("/v1/devices/revoke", RevokeRequest(device: device))
  }

  public func deviceChange(_ request: DeviceChangeRequest) async throws -> DevicesReport.Device {
    try await post("/v1/devices/change", request)
  }

  public func accountReplaceKey(_ request: ReplaceKeyRequest) async throws -> ReplaceKeyReport {
    try await post("/v1/account/key", request)
  }

  public func shares() async throws -> SharesReport { try await get("/v1/shares") }

  public func share(_ share: String) async throws -> ShareReport {
    try await post("/v1/shares/show", ShareRequest(share: share))
  }

  public func shareCreate(_ request: ShareCreateRequest) async throws -> ShareReport {
    try await post("/v1/shares", request)
  }

  public func shareInvite(_ request: ShareInviteRequest) async throws -> ShareInviteReport {
    try await post("/v1/shares/invite", request)
  }

  public func shareJoin(_ request: ShareJoinRequest) async throws -> ShareJoinReport {
    try await post("/v1/shares/join", request)
  }

  public func shareChange(_ request: ShareChangeRequest) async throws -> ShareReport {
    try await post("/v1/shares/change", request)
  }

  public func shareReceipt(_ request: ShareReceiptRequest) async throws -> ShareReceiptReport {
    try await post("/v1/shares/receipt", request)
  }

  public func accountShow() async throws -> AccountReport { try await get("/v1/account") }
}
