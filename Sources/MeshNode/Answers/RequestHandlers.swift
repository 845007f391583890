import MeshControl

extension Node {
  /// All requests to a node, with the parts that answer them. The daemon's routes are the same.
  static let handlers: RequestHandlers = {
    var handlers = RequestHandlers()
    handlers.on(StatusRequest.self) { context, _ in try await StatusAnswers(context: context).status() }
    handlers.on(PeersRequest.self) { context, _ in PeersReport(peers: try PeerAnswers(context: context).peers()) }
    handlers.on(ZonesRequest.self) { context, _ in ZonesReport(zones: try StatusAnswers(context: context).zones()) }
    handlers.on(ConflictsRequest.self) { try ConflictAnswers(context: $0).conflicts($1) }
    handlers.on(DismissRequest.self) { try ConflictAnswers(context: $0).dismiss($1) }
    handlers.on(HeldRequest.self) { context, _ in try HeldAnswers(context: context).held() }
    handlers.on(RetryRequest.self) { context, _ in try await HeldAnswers(context: context).retry() }
    handlers.on(ResolveRequest.self) { try await HeldAnswers(context: $0).resolve($1) }
    handlers.on(DiscardableRequest.self) { try await HeldAnswers(context: $0).discardable($1) }
    handlers.on(DiscardRequest.self) { try await HeldAnswers(context: $0).discard($1) }
    handlers.on(RestoreRequest.self) { try await ConflictAnswers(context: $0).restore($1) }
    handlers.on(RecordRequest.self) { try await RecordAnswers(context: $0).explain($1) }
    handlers.on(AccountRequest.self) { context, _ in try DeviceAnswers(context: context).account() }
    // A node that can't use its database still says why, and saves what is left.
    handlers.on(DoctorRequest.self, needsDatabase: false) { context, _ in
      try await Doctor(context: context).report(deep: false)
    }
    handlers.on(DeepDoctorRequest.self, needsDatabase: false) { context, _ in
      try await Doctor(context: context).report(deep: true)
    }
    handlers.on(BackupRequest.self, needsDatabase: false) { try await BackupAnswers(context: $0).backup(to: $1.file) }
    // These requests end when they are done, or when the daemon stops.
    handlers.on(VerifyRequest.self, endsWithDaemon: true) {
      try await WaitAnswers(context: $0).verify(timeout: $1.timeout)
    }
    handlers.on(WaitRequest.self, endsWithDaemon: true) { try await WaitAnswers(context: $0).wait($1) }
    handlers.on(YieldRequest.self, needsDatabase: false) { try YieldAnswers(context: $0).yield(to: $1) }
    handlers.on(AssetsRequest.self) { context, _ in try AssetAnswers(context: context).assets() }
    handlers.on(AssetShowRequest.self) { try AssetAnswers(context: $0).show($1) }
    handlers.on(AssetFetchRequest.self) { try AssetAnswers(context: $0).fetch($1) }
    handlers.on(AssetEvictRequest.self) { try await AssetAnswers(context: $0).evict($1) }
    handlers.on(AssetPoliciesRequest.self) { context, _ in try AssetAnswers(context: context).policies() }
    handlers.on(AssetPolicyRequest.self) { try AssetAnswers(context: $0).setPolicy($1) }
    handlers.on(TrackRequest.self) { try await TableAnswers(context: $0).track($1) }
    handlers.on(UntrackRequest.self) { try await TableAnswers(context: $0).untrack($1.tables) }
    handlers.on(RescanRequest.self) { try await TableAnswers(context: $0).rescan($1.tables ?? []) }
    handlers.on(SchemaRequest.self) { context, _ in try TableAnswers(context: context).schema() }
    handlers.on(ApplySchemaRequest.self) { context, _ in try await TableAnswers(context: context).applySchema() }
    handlers.on(DevicesRequest.self) { context, _ in DeviceAnswers(context: context).list() }
    handlers.on(InviteRequest.self) { try DeviceAnswers(context: $0).invite(expires: $1.expires) }
    handlers.on(RevokeRequest.self) { try DeviceAnswers(context: $0).revoke($1.device) }
    handlers.on(DeviceChangeRequest.self) { try DeviceAnswers(context: $0).change($1) }
    handlers.on(RestampRequest.self) { context, _ in try DeviceAnswers(context: context).restamp() }
    handlers.on(ReplaceKeyRequest.self) { try DeviceAnswers(context: $0).replaceKey($1) }
    handlers.on(SharesRequest.self) { context, _ in try ShareAnswers(context: context).shares() }
    handlers.on(ShareRequest.self) { try ShareAnswers(context: $0).share($1.share) }
    handlers.on(ShareCreateRequest.self) { try await ShareAnswers(context: $0).create($1) }
    handlers.on(ShareInviteRequest.self) { try ShareAnswers(context: $0).invite($1) }
    handlers.on(ShareJoinRequest.self) { try await ShareJoinAnswers(context: $0).join($1) }
    handlers.on(ShareChangeRequest.self) { try await ShareAnswers(context: $0).change($1) }
    handlers.on(ShareReceiptRequest.self) { try ShareAnswers(context: $0).receipt($1) }
    return handlers
  }()
}

/// The action for each type of request.
struct RequestHandlers: Sendable {
  typealias Action<Request: ControlRequest> =
    nonisolated(nonsending) @Sendable (NodeContext, Request) async throws -> Request.Answer

  struct Handler<Request: ControlRequest>: Sendable {
    /// False if the request is also performed while the node can't use its database.
    let needsDatabase: Bool
    /// True if the request is cancelled when the daemon stops.
    let endsWithDaemon: Bool
    let run: Action<Request>
  }

  private(set) var requests: [any ControlRequest.Type] = []
  private var handlers: [ObjectIdentifier: any Sendable] = [:]

  mutating func on<Request: ControlRequest>(
    _ type: Request.Type, needsDatabase: Bool = true, endsWithDaemon: Bool = false, _ run: @escaping Action<Request>
  ) {
    requests.append(type)
    handlers[ObjectIdentifier(type)] = Handler(
      needsDatabase: needsDatabase, endsWithDaemon: endsWithDaemon, run: run)
  }

  subscript<Request: ControlRequest>(type: Request.Type) -> Handler<Request>? {
    handlers[ObjectIdentifier(type)] as? Handler<Request>
  }
}
