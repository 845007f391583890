import Foundation
import Logging
import MeshControl
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@testable import MeshNode

@Suite struct ControlTests {
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Runs a server on a fresh home while `body` runs.
  private func withServer(
    _ node: StubNode = StubNode(), _ body: @escaping @Sendable (ControlClient, Home) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try await withServer(node, on: home) { try await body(ControlClient(home: home.path), home) }
    }
  }

  private func withServer(
    _ node: StubNode = StubNode(), on home: Home, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let (accepting, accepted) = AsyncStream.makeStream(of: Void.self)
    let server = ControlServer(node: node, home: home, logger: logger) { accepted.yield() }
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

  @Test("every request reaches the node as it was sent, and the answer comes back")
  func everyRequest() async throws {
    let node = StubNode()
    try await withServer(node) { client, _ in
      func check<Request: ControlRequest>(_ request: Request) async throws {
        let answer = try ControlJSON.encode(await client.perform(request))
        let expected = try ControlJSON.encode(StubNode.answer(to: Request.self))
        #expect(answer == expected)
      }
      for request in RequestSamples.requests { try await check(request) }
    }
    #expect(try node.received == RequestSamples.requests.map { try StubNode.text(of: $0) })
    let types = Set(RequestSamples.requests.map { ObjectIdentifier(type(of: $0)) })
    #expect(types == Set(Node.handlers.requests.map { ObjectIdentifier($0) }))
  }

  /// The routes and the JSON of the samples, one on each line. Other programs send them too.
  private static let requests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "requests.txt")

  @Test("the route and the JSON of every request stay as programs know them")
  func formOfRequests() throws {
    let lines = try RequestSamples.requests.map { try StubNode.text(of: $0) }
    #expect(try lines == String(contentsOf: Self.requests, encoding: .utf8).split(separator: "\n").map(String.init))
  }

  @Test("the newest conflicts have a route without parameters")
  func newestConflicts() async throws {
    let node = StubNode()
    try await withServer(node) { _, home in
      let exchange = ControlExchange(method: .get, path: "/v1/conflicts", body: [], limit: .seconds(30))
      let answer = try await exchange.run(on: home.path(of: .controlSocket))
      #expect(answer.isSuccess)
    }
    #expect(node.received == ["POST /v1/conflicts {}"])
  }

  @Test("the documentation lists every route")
  func documentedRoutes() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/MeshNode/MeshNode.docc/ControlInterface.md")
    let text = try String(contentsOf: document, encoding: .utf8)
    func check<Request: ControlRequest>(_ request: Request.Type) {
      #expect(text.contains("| `\(request.route)` |"), "\(request.route) is missing")
    }
    for request in Node.handlers.requests { check(request) }
  }

  @Test("the samples in the documentation have the keys of the answers")
  func documentedSamples() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/MeshNode/MeshNode.docc/ControlInterface.md")
    let text = try String(contentsOf: document, encoding: .utf8)
    func check(_ type: (some Codable).Type, after words: String) throws {
      let rest = try #require(text.components(separatedBy: words).dropFirst().first, "\(words)")
      let sample = try #require(
        rest.components(separatedBy: "```json\n").dropFirst().first?.components(separatedBy: "```").first)
      let read = try ControlJSON.decode(type, from: Array(sample.utf8))
      func object(_ bytes: some Sequence<UInt8>) throws -> NSDictionary? {
        try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary
      }
      #expect(try object(ControlJSON.encode(read)) == object(sample.utf8), "\(type)")
    }
    try check(StatusReport.self, after: "\n`GET /v1/status`:\n")
    try check(SharesReport.self, after: "\n`GET /v1/shares`:\n")
    try check(HeldReport.self, after: "\n`GET /v1/held`:\n")
    try check(RecordReport.self, after: "\n`POST /v1/explain/record`:\n")
    try check(DoctorReport.self, after: "\n`GET /v1/doctor`:\n")
    try check(AssetsReport.self, after: "\n`GET /v1/assets` lists")
    try check(RestoreReport.self, after: "\nThe answer shows what was written:\n")
    try check(RefusalEnvelope.self, after: "\nAny status other than 200 carries the reason:\n")
  }

  @Test("a hundred clients that wait don't keep another one from its answer", .timeLimit(.minutes(1)))
  func manyClients() async throws {
    let node = StubNode()
    try await withServer(node) { client, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask { _ = try await client.perform(WaitRequest(timeout: .seconds(3_600))) }
        }
        while node.received.count < 100 { try await Task.sleep(for: .milliseconds(1)) }
        _ = try await client.perform(StatusRequest())
        group.cancelAll()
      }
    }
  }

  @Test("the client receives a refusal with its code and message unchanged")
  func aRefusalArrivesUnchanged() async throws {
    try await withServer { client, _ in
      let unknown = await refusal { _ = try await client.perform(RevokeRequest(device: "x")) }
      #expect(unknown == Refusal(code: "device.unknown", message: "No device is called x.\nSee mesh device list."))
    }
  }

  @Test("an unexpected error reaches the client with its type and without its values")
  func anUnforeseenErrorSaysNothingOfWhatItHolds() async throws {
    try await withServer { client, _ in
      let refusal = try #require(
        await refusal { _ = try await client.perform(RecordRequest(table: "surprise", key: "")) })
      #expect(refusal.code == "control.internal")
      #expect(refusal.message.contains("Surprise"))
      #expect(!refusal.message.contains("row value"))
    }
  }

  @Test("the control socket is private and is removed when the server ends")
  func theSocketIsPrivateAndGoesWithTheServer() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let socket = home.path(of: .controlSocket)
      try await withServer(on: home) {
        let bits = try mode(of: socket)
        #expect(bits == 0o600)
        #expect(UnixSocket.isListening(at: socket))
      }
      #expect(!FileManager.default.fileExists(atPath: socket))
    }
  }

  @Test("the client reports a missing daemon if there is no socket") func withoutADaemonTheClientSaysSo() async throws {
    try await withTemporaryDirectory { root in
      let client = ControlClient(socket: "\(root)/control.sock")
      let refusal = await refusal { _ = try await client.perform(StatusRequest()) }
      #expect(refusal?.code == "daemon.noDaemon")
      #expect(refusal?.exit == .daemonNeeded)
    }
  }

  @Test("a server replaces the socket that a killed daemon left")
  func aSocketThatAKilledDaemonLeftIsReplaced() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let socket = home.path(of: .controlSocket)
      try leaveSocket(at: socket)
      #expect(FileManager.default.fileExists(atPath: socket))
      let client = ControlClient(socket: socket)
      #expect(await refusal { _ = try await client.perform(StatusRequest()) }?.code == "daemon.noDaemon")
      try await withServer(on: home) {
        let status = try await client.perform(StatusRequest())
        #expect(status.running)
      }
    }
  }

  @Test("a second server fails while the first answers on the socket")
  func aSocketThatSomebodyAnswersAtIsNotTaken() async throws {
    try await withServer { client, home in
      await #expect(throws: HomeError.self) {
        try await ControlServer(node: StubNode(), home: home, logger: logger).run()
      }
      let status = try await client.perform(StatusRequest())
      #expect(status.running)
    }
  }

  @Test("the client reports a daemon that closes the connection before it answers", arguments: [false, true])
  func aDaemonThatGoesAwayIsSaidToHaveGone(hasRead: Bool) async throws {
    try await withTemporaryDirectory { root in
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          hasRead ? channel.pipeline.addHandler(ClosesWhenAsked()) : channel.close()
        }
        .bind(unixDomainSocketPath: "\(root)/s").get()
      let body = [UInt8](repeating: 0x20, count: 1 << 20)
      for method in [ControlMethod.get, .post] {
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

  @Test("the client reports a timeout differently from a missing daemon")
  func aDaemonThatDoesNotAnswerIsToldFromOneThatIsNotThere() async throws {
    try await withServer { _, home in
      let body = try ControlJSON.encode(["timeoutSeconds": 3_600])
      let exchange = ControlExchange(method: .post, path: "/v1/wait", body: body, limit: .milliseconds(50))
      let refusal = await refusal { _ = try await exchange.run(on: home.path(of: .controlSocket)) }
      #expect(refusal?.code == "daemon.notAnswering")
      #expect(refusal?.exit == .daemonNeeded)
    }
  }

  @Test(
    "a request with an unknown route or a malformed body is a usage error",
    arguments: [
      ("/v1/nothing", "", "control.route"), ("/v1/track", "{\"tables\": 7}", "control.request"),
      ("/v1/untrack", "not json", "control.request"), ("/v1/devices/revoke", "", "control.request"),
      ("/v1/conflicts", #"{"since": "2d"}"#, "control.request"), ("/v1/untrack", "[1]", "control.request"),
      ("/v1/shares/invite", #"{"share": "s", "permission": "all"}"#, "control.request"),
    ])
  func aRequestThatMakesNoSenseIsRefusedAsUsage(path: String, body: String, code: String) async throws {
    try await withServer { _, home in
      let exchange = ControlExchange(method: .post, path: path, body: Array(body.utf8), limit: .seconds(30))
      let answer = try await exchange.run(on: home.path(of: .controlSocket))
      #expect(!answer.isSuccess)
      let refusal = try ControlJSON.decode(RefusalEnvelope.self, from: answer.body).error
      #expect(refusal.code == code)
      #expect(refusal.exit == .usage)
    }
  }

  @Test(
    "a request with an unknown key is refused, and so is one that lacks a key, by name",
    arguments: [
      (
        "/v1/track", #"{"tabels": ["t"]}"#,
        "POST /v1/track has no key “tabels”. It has integerKeys, policies, private, shareable, tables. Nothing was done."
      ),
      ("/v1/held/retry", #"{"a": 1}"#, "POST /v1/held/retry has no key “a”. It has none. Nothing was done."),
      ("/v1/devices/revoke", "{}", "POST /v1/devices/revoke needs the key “device”."),
      (
        "/v1/conflicts", #"{"since": "2d"}"#,
        "POST /v1/conflicts can't read the value of “since”. ControlInterface.md has what it takes."
      ),
      (
        "/v1/track", #"{"tables": [7]}"#,
        "POST /v1/track can't read the value of “tables”. ControlInterface.md has what it takes."
      ),
    ])
  func aKeyIsMisspelt(path: String, body: String, message: String) async throws {
    try await withServer { _, home in
      let exchange = ControlExchange(method: .post, path: path, body: Array(body.utf8), limit: .seconds(30))
      let answer = try await exchange.run(on: home.path(of: .controlSocket))
      #expect(try ControlJSON.decode(RefusalEnvelope.self, from: answer.body).error.message == message)
    }
  }

  /// Leaves a socket like a killed process: it is bound, and no process listens.
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
