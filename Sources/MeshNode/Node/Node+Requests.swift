import MeshControl
import ServiceLifecycle

extension Node: NodeControl {
  /// Performs a request, in the daemon or on the home alone. If it may have changed something, the node's own work
  /// continues with that afterwards.
  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    guard let handler = Self.handlers[Request.self] else {
      throw Refusal(code: Refusal.noRoute, message: "There is no \(Request.route).", exit: .usage)
    }
    // The request wasn't performed, so the caller may ask the next node.
    guard !isClosed else { throw ControlClientError.noDaemon(home.path(of: .controlSocket)) }
    if handler.needsDatabase {
      lookAtDatabase()
      if let suspension { throw suspension }
    }
    defer { if Request.route.method == .post { performActions() } }
    return try await handler.run(self, request)
  }

  /// All requests to a node. The daemon's routes are the same.
  static let handlers: RequestHandlers = {
    var handlers = RequestHandlers()
    handlers.on(StatusRequest.self) { node, _ in try await node.status() }
    handlers.on(PeersRequest.self) { node, _ in PeersReport(peers: try node.peerReports()) }
    handlers.on(ZonesRequest.self) { node, _ in ZonesReport(zones: try node.zoneReports()) }
    handlers.on(ConflictsRequest.self) { try $0.conflicts($1) }
    handlers.on(HeldRequest.self) { node, _ in try node.held() }
    handlers.on(RetryRequest.self) { node, _ in try await node.heldRetry() }
    handlers.on(ResolveRequest.self) { try $0.heldResolve($1) }
    handlers.on(DiscardRequest.self) { try $0.heldDiscard($1) }
    handlers.on(RestoreRequest.self) { try $0.restore($1) }
    handlers.on(RecordRequest.self) { try $0.explain($1) }
    handlers.on(AccountRequest.self) { node, _ in try node.accountShow() }
    // A node that can't use its database still says why, and saves what is left.
    handlers.on(DoctorRequest.self, needsDatabase: false) { node, _ in try await node.doctor(deep: false) }
    handlers.on(DeepDoctorRequest.self, needsDatabase: false) { node, _ in try await node.doctor(deep: true) }
    handlers.on(BackupRequest.self, needsDatabase: false) { try await $0.backup(to: $1.file) }
    // These requests end when they are done, or when the daemon stops.
    handlers.on(VerifyRequest.self) { node, request in
      try await cancelWhenGracefulShutdown { try await node.verify(timeout: request.timeout) }
    }
    handlers.on(WaitRequest.self) { node, request in
      try await cancelWhenGracefulShutdown { try await node.wait(request) }
    }
    handlers.on(YieldRequest.self, needsDatabase: false) { try $0.yield(to: $1) }
    handlers.on(AssetsRequest.self) { node, _ in try node.assets() }
    handlers.on(AssetShowRequest.self) { try $0.assetShow($1) }
    handlers.on(AssetFetchRequest.self) { try $0.assetFetch($1) }
    handlers.on(AssetEvictRequest.self) { try await $0.assetEvict($1) }
    handlers.on(AssetPoliciesRequest.self) { node, _ in try node.assetPolicies() }
    handlers.on(AssetPolicyRequest.self) { try $0.setAssetPolicy($1) }
    handlers.on(TrackRequest.self) { try $0.track($1) }
    handlers.on(UntrackRequest.self) { try $0.untrack($1.tables) }
    handlers.on(RescanRequest.self) { try await $0.rescan($1.tables ?? []) }
    handlers.on(SchemaRequest.self) { node, _ in try await node.schema(apply: false) }
    handlers.on(ApplySchemaRequest.self) { node, _ in try await node.schema(apply: true) }
    handlers.on(DevicesRequest.self) { node, _ in node.deviceList() }
    handlers.on(InviteRequest.self) { try $0.deviceInvite(expires: $1.expires) }
    handlers.on(RevokeRequest.self) { try $0.deviceRevoke($1.device) }
    handlers.on(DeviceChangeRequest.self) { try $0.deviceChange($1) }
    handlers.on(RestampRequest.self) { node, _ in try node.deviceRestamp() }
    handlers.on(ReplaceKeyRequest.self) { try $0.accountReplaceKey($1) }
    handlers.on(SharesRequest.self) { node, _ in try node.shares() }
    handlers.on(ShareRequest.self) { try $0.share($1.share) }
    handlers.on(ShareCreateRequest.self) { try await $0.shareCreate($1) }
    handlers.on(ShareInviteRequest.self) { try $0.shareInvite($1) }
    handlers.on(ShareJoinRequest.self) { try await $0.shareJoin($1) }
    handlers.on(ShareChangeRequest.self) { try $0.shareChange($1) }
    handlers.on(ShareReceiptRequest.self) { try $0.shareReceipt($1) }
    return handlers
  }()
}

/// The node's action for each type of request.
struct RequestHandlers: Sendable {
  struct Handler<Request: ControlRequest>: Sendable {
    /// False if the request is also performed while the node can't use its database.
    let needsDatabase: Bool
    let run: @Sendable (isolated Node, Request) async throws -> Request.Answer
  }

  private(set) var requests: [any ControlRequest.Type] = []
  private var handlers: [ObjectIdentifier: any Sendable] = [:]

  mutating func on<Request: ControlRequest>(
    _ type: Request.Type, needsDatabase: Bool = true,
    _ run: @escaping @Sendable (isolated Node, Request) async throws -> Request.Answer
  ) {
    requests.append(type)
    handlers[ObjectIdentifier(type)] = Handler(needsDatabase: needsDatabase, run: run)
  }

  subscript<Request: ControlRequest>(type: Request.Type) -> Handler<Request>? {
    handlers[ObjectIdentifier(type)] as? Handler<Request>
  }
}
