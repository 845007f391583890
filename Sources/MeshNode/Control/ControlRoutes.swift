import Hummingbird
import NIOCore
import ServiceLifecycle

/// The control interface: one route for each question or act of a verb.
struct ControlRoutes {
  let node: any NodeControl

  func router() -> Router<ControlContext> {
    let router = Router(context: ControlContext.self)
    router.add(middleware: RefusalAnswers())
    router.add(middleware: OwnProcessesOnly())
    router.add(middleware: RefusalWhileSuspended(node: node))
    addFacts(to: router)
    addWaiting(to: router)
    addAssets(to: router)
    addTables(to: router)
    addDevices(to: router)
    addShares(to: router)
    return router
  }

  private func addFacts(to router: Router<ControlContext>) {
    router.get("v1/status") { _, _ in try Response.json(await node.status()) }
    router.get("v1/peers") { _, _ in try Response.json(await node.peers()) }
    router.get("v1/zones") { _, _ in try Response.json(await node.zones()) }
    router.get("v1/conflicts") { _, _ in try Response.json(await node.conflicts(ConflictsRequest())) }
    router.post("v1/conflicts") { request, _ in
      try Response.json(await node.conflicts(await body(ConflictsRequest.self, of: request)))
    }
    router.get("v1/held") { _, _ in try Response.json(await node.held()) }
    router.post("v1/held/retry") { _, _ in try Response.json(await node.heldRetry()) }
    router.post("v1/held/resolve") { request, _ in
      try Response.json(await node.heldResolve(await body(ResolveRequest.self, of: request)))
    }
    router.post("v1/held/discard") { request, _ in
      try Response.json(await node.heldDiscard(await body(DiscardRequest.self, of: request)))
    }
    router.post("v1/restore") { request, _ in
      try Response.json(await node.restore(await body(RestoreRequest.self, of: request)))
    }
    router.post("v1/explain/record") { request, _ in
      try Response.json(await node.explain(await body(RecordRequest.self, of: request)))
    }
    router.get("v1/doctor") { _, _ in try Response.json(await node.doctor(deep: false)) }
    router.get("v1/doctor/deep") { _, _ in try Response.json(await node.doctor(deep: true)) }
    router.post("v1/backup") { request, _ in
      try Response.json(await node.backup(to: await body(BackupRequest.self, of: request).file))
    }
    router.get("v1/account") { _, _ in try Response.json(await node.accountShow()) }
  }

  /// These answer when they are done, or when the daemon stops.
  private func addWaiting(to router: Router<ControlContext>) {
    router.post("v1/verify") { request, _ in
      let timeout = try await body(TimeoutRequest.self, of: request).timeout
      return try Response.json(await cancelWhenGracefulShutdown { try await node.verify(timeout: timeout) })
    }
    router.post("v1/wait") { request, _ in
      let timeout = try await body(TimeoutRequest.self, of: request).timeout
      return try Response.json(await cancelWhenGracefulShutdown { try await node.wait(timeout: timeout) })
    }
  }

  private func addAssets(to router: Router<ControlContext>) {
    router.get("v1/assets") { _, _ in try Response.json(await node.assets()) }
    router.post("v1/assets/show") { request, _ in
      try Response.json(await node.assetShow(await body(AssetRequest.self, of: request)))
    }
    router.post("v1/assets/fetch") { request, _ in
      try Response.json(await node.assetFetch(await body(AssetRequest.self, of: request)))
    }
    router.post("v1/assets/evict") { request, _ in
      try Response.json(await node.assetEvict(await body(AssetRequest.self, of: request)))
    }
    router.get("v1/assets/policy") { _, _ in try Response.json(await node.assetPolicies()) }
    router.post("v1/assets/policy") { request, _ in
      let change = try await body(AssetPolicyRequest.self, of: request)
      return try Response.json(await node.setAssetPolicy(change.policy, table: change.table))
    }
  }

  private func addTables(to router: Router<ControlContext>) {
    router.post("v1/track") { request, _ in
      try Response.json(await node.track(await body(TrackRequest.self, of: request)))
    }
    router.post("v1/untrack") { request, _ in
      try Response.json(await node.untrack(await body(UntrackRequest.self, of: request).tables))
    }
    router.post("v1/rescan") { request, _ in
      try Response.json(await node.rescan(await body(RescanRequest.self, of: request).tables ?? []))
    }
    router.get("v1/schema") { _, _ in try Response.json(await node.schema(apply: false)) }
    router.post("v1/schema") { _, _ in try Response.json(await node.schema(apply: true)) }
  }

  private func addDevices(to router: Router<ControlContext>) {
    router.get("v1/devices") { _, _ in try Response.json(await node.deviceList()) }
    router.post("v1/devices/invite") { request, _ in
      try Response.json(await node.deviceInvite(expires: await body(InviteRequest.self, of: request).expires))
    }
    router.post("v1/devices/revoke") { request, _ in
      try Response.json(await node.deviceRevoke(await body(RevokeRequest.self, of: request).device))
    }
    router.post("v1/devices/change") { request, _ in
      try Response.json(await node.deviceChange(await body(DeviceChangeRequest.self, of: request)))
    }
    router.post("v1/account/key") { request, _ in
      try Response.json(await node.accountReplaceKey(await body(ReplaceKeyRequest.self, of: request)))
    }
    router.post("v1/devices/restamp") { _, _ in try Response.json(await node.deviceRestamp()) }
  }

  private func addShares(to router: Router<ControlContext>) {
    router.get("v1/shares") { _, _ in try Response.json(await node.shares()) }
    router.post("v1/shares") { request, _ in
      try Response.json(await node.shareCreate(await body(ShareCreateRequest.self, of: request)))
    }
    router.post("v1/shares/invite") { request, _ in
      try Response.json(await node.shareInvite(await body(ShareInviteRequest.self, of: request)))
    }
    router.post("v1/shares/join") { request, _ in
      try Response.json(await node.shareJoin(await body(ShareJoinRequest.self, of: request)))
    }
    router.post("v1/shares/change") { request, _ in
      try Response.json(await node.shareChange(await body(ShareChangeRequest.self, of: request)))
    }
    router.post("v1/shares/show") { request, _ in
      try Response.json(await node.share(await body(ShareRequest.self, of: request).share))
    }
    router.post("v1/shares/receipt") { request, _ in
      try Response.json(await node.shareReceipt(await body(ShareReceiptRequest.self, of: request)))
    }
  }

  private func body<Value: Decodable>(_ type: Value.Type, of request: Request) async throws -> Value {
    let buffer: ByteBuffer
    do {
      buffer = try await request.body.collect(upTo: ControlContext.bodyLimit)
    } catch is NIOTooManyBytesError {
      throw Refusal(
        code: "control.tooLong", message: "A request's body has at most \(ControlContext.bodyLimit) bytes.",
        exit: .usage)
    }
    let bytes = Array(buffer.readableBytesView)
    return try ControlJSON.decode(type, from: bytes.isEmpty ? Array("{}".utf8) : bytes)
  }
}
