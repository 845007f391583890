import Foundation
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@testable import MeshNode

@Suite struct ControlTests {
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Runs a server on a fresh home for as long as `body` takes.
  private func withServer(
    _ body: @escaping @Sendable (ControlClient, Home) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try await withServer(on: home) { try await body(ControlClient(socket: home.path(of: .controlSocket)), home) }
    }
  }

  private func withServer(on home: Home, _ body: @escaping @Sendable () async throws -> Void) async throws {
    let (accepting, accepted) = AsyncStream.makeStream(of: Void.self)
    let server = ControlServer(node: StubNode(), home: home, logger: logger) { accepted.yield() }
    let services = ServiceGroup(services: [server], logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { accepted.finish() }
        try await services.run()
      }
      for await _ in accepting { break }
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
      await services.triggerGracefulShutdown()
      try await group.waitForAll()
      try outcome.get()
    }
  }

  private func refusal(_ body: () async throws -> Void) async -> Refusal? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? any Refusing)?.refusal
    }
  }

  /// Inside a `@Sendable` closure `#expect` takes no expression that throws.
  private func expect<Value: Equatable>(
    _ actual: Value, is expected: Value, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(actual == expected, sourceLocation: sourceLocation)
  }

  @Test func everyQuestionHasTheAnswerOfTheNode() async throws {
    try await withServer { client, _ in
      let node = StubNode()
      try await expect(client.status(), is: node.status())
      try await expect(client.peers().peers, is: [StubNode.peer])
      try await expect(client.zones().zones, is: [StubNode.zone])
      let conflicts = ConflictsRequest(
        table: "notes", zone: "zone-7", device: "laptop", since: StubNode.when, after: 9, limit: 3)
      try await expect(client.conflicts(conflicts), is: node.conflicts(conflicts))
      try await expect(client.held(), is: node.held())
      try await expect(client.assets(), is: node.assets())
      let asset = AssetRequest(table: "photos", key: "p1", column: "image", force: true)
      try await expect(client.assetShow(asset), is: node.assetShow(asset))
      try await expect(client.assetFetch(asset), is: node.assetFetch(asset))
      try await expect(client.assetEvict(asset), is: node.assetEvict(asset))
      try await expect(client.assetPolicies(), is: node.assetPolicies())
      try await expect(
        client.setAssetPolicy(.always, table: "t"), is: node.setAssetPolicy(.always, table: "t"))
      try await expect(client.heldRetry(), is: node.heldRetry())
      let discard = DiscardRequest(table: "notes", keys: ["n1", "n2"], zone: "zone-7")
      try await expect(client.heldDiscard(discard), is: node.heldDiscard(discard))
      let resolve = ResolveRequest(table: "notes", key: "n1", values: ["a": "7"], keepShown: true, zone: "zone-7")
      try await expect(client.heldResolve(resolve), is: node.heldResolve(resolve))
      for request in [RestoreRequest(conflict: 7), RestoreRequest(table: "notes", key: "n1", columns: ["a"])] {
        try await expect(client.restore(request), is: node.restore(request))
      }
      try await expect(client.schema(apply: false).applied, is: false)
      try await expect(client.schema(apply: true).applied, is: true)
      try await expect(client.deviceList(), is: node.deviceList())
      try await expect(client.untrack(["a", "b"]).tables, is: ["a", "b"])
      try await expect(client.rescan(["a"]), is: RescanReport(tables: ["a"], rows: 3, differences: 1))
      try await expect(client.deviceInvite(expires: .seconds(90)), is: node.deviceInvite(expires: .seconds(90)))
      try await expect(client.deviceRevoke("device-2"), is: node.deviceRevoke("device-2"))
      try await expect(client.deviceRestamp(), is: node.deviceRestamp())
      for act in DeviceChangeRequest.Act.allCases {
        let request = DeviceChangeRequest(device: "device-2", act: act)
        try await expect(client.deviceChange(request), is: node.deviceChange(request))
      }
      let replacement = ReplaceKeyRequest(recovery: "mesh-recovery-x", readmit: ["device-2"])
      try await expect(client.accountReplaceKey(replacement), is: node.accountReplaceKey(replacement))
      try await expect(client.share("list"), is: StubNode.share)
      for (restore, discard) in [(true, false), (false, true)] {
        let receipt = ShareReceiptRequest(share: "list", restore: restore, discard: discard)
        try await expect(client.shareReceipt(receipt), is: node.shareReceipt(receipt))
      }
      let record = RecordRequest(table: "notes", key: "n1")
      try await expect(client.explain(record), is: node.explain(record))
      let request = TrackRequest(tables: ["notes"], privateTables: ["drafts"], integerKeys: true)
      try await expect(client.track(request), is: node.track(request))
      try await expect(client.wait(timeout: .milliseconds(1)).pending, is: 1)
    }
  }

  @Test func aRefusalArrivesUnchanged() async throws {
    try await withServer { client, _ in
      let unknown = await refusal { _ = try await client.deviceRevoke("x") }
      #expect(unknown == Refusal(code: "device.unknown", message: "No device is called x.\nSee mesh device list."))
      #expect(await refusal { _ = try await client.verify(timeout: .seconds(1)) } == .noMember)
    }
  }

  @Test func anUnforeseenErrorSaysNothingOfWhatItHolds() async throws {
    try await withServer { client, _ in
      let refusal = try #require(await refusal { _ = try await client.accountShow() })
      #expect(refusal.code == "control.internal")
      #expect(refusal.message.contains("Surprise"))
      #expect(!refusal.message.contains("row value"))
    }
  }

  @Test func theSocketIsPrivateAndGoesWithTheServer() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let socket = home.path(of: .controlSocket)
      try await withServer(on: home) {
        try expect(mode(of: socket), is: 0o600)
        #expect(UnixSocket.isListening(at: socket))
      }
      #expect(!FileManager.default.fileExists(atPath: socket))
    }
  }

  @Test func withoutADaemonTheClientSaysSo() async throws {
    try await withTemporaryDirectory { root in
      let client = ControlClient(socket: "\(root)/control.sock")
      let refusal = await refusal { _ = try await client.status() }
      #expect(refusal?.code == "daemon.noDaemon")
      #expect(refusal?.exit == .daemonNeeded)
    }
  }

  @Test func aSocketThatAKilledDaemonLeftIsReplaced() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let socket = home.path(of: .controlSocket)
      try leaveSocket(at: socket)
      #expect(FileManager.default.fileExists(atPath: socket))
      let client = ControlClient(socket: socket)
      #expect(await refusal { _ = try await client.status() }?.code == "daemon.noDaemon")
      try await withServer(on: home) { try await expect(client.status().running, is: true) }
    }
  }

  @Test func aSocketThatSomebodyAnswersAtIsNotTaken() async throws {
    try await withServer { client, home in
      await #expect(throws: HomeError.self) {
        try await ControlServer(node: StubNode(), home: home, logger: logger).run()
      }
      try await expect(client.status().running, is: true)
    }
  }

  @Test(arguments: [false, true])
  func aDaemonThatGoesAwayIsSaidToHaveGone(hasRead: Bool) async throws {
    try await withTemporaryDirectory { root in
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          hasRead ? channel.pipeline.addHandler(ClosesWhenAsked()) : channel.close()
        }
        .bind(unixDomainSocketPath: "\(root)/s").get()
      let body = [UInt8](repeating: 0x20, count: 1 << 20)
      for method in [ControlExchange.Method.get, .post] {
        let exchange = ControlExchange(
          method: method, path: "/v1/status", body: method == .get ? [] : body, limit: .seconds(30))
        let refusal = await refusal { _ = try await exchange.run(on: "\(root)/s") }
        #expect(refusal?.code == "daemon.closed" && refusal?.exit == .daemonNeeded)
      }
      try await server.close()
    }
  }

  private final class ClosesWhenAsked: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
  }

  @Test func aDaemonThatDoesNotAnswerIsToldFromOneThatIsNotThere() async throws {
    try await withServer { _, home in
      let body = try ControlJSON.encode(["timeoutSeconds": 3_600])
      let exchange = ControlExchange(method: .post, path: "/v1/wait", body: body, limit: .milliseconds(50))
      let refusal = await refusal { _ = try await exchange.run(on: home.path(of: .controlSocket)) }
      #expect(refusal?.code == "daemon.notAnswering")
      #expect(refusal?.exit == .daemonNeeded)
    }
  }

  @Test(arguments: [
    ("/v1/nothing", "", "control.route"), ("/v1/track", "{\"tables\": 7}", "control.request"),
    ("/v1/untrack", "not json", "control.request"), ("/v1/devices/revoke", "", "control.request"),
  ])
  func aRequestThatMakesNoSenseIsRefusedAsUsage(path: String, body: String, code: String) async throws {
    try await withServer { _, home in
      let exchange = ControlExchange(method: .post, path: path, body: Array(body.utf8), limit: .seconds(30))
      let (isSuccess, answer) = try await exchange.run(on: home.path(of: .controlSocket))
      #expect(!isSuccess)
      let refusal = try ControlJSON.decode(RefusalEnvelope.self, from: answer).error
      #expect(refusal.code == code)
      #expect(refusal.exit == .usage)
    }
  }

  /// As a process that was killed leaves it: bound, and nobody listening.
  private func leaveSocket(at path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
  }
}
