import MeshTransport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DialTests {
  @Test func `Nobody there is an error that names the address`() async throws {
    let free = try await transport(1).listen(host: "127.0.0.1", port: 0)
    await free.close()
    let error = await #expect(throws: TransportError.self) {
      _ = try await transport(1).dial(host: "127.0.0.1", port: free.port)
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message.hasPrefix("\(free.address) cannot be reached: ") == true)
  }

  @Test func `An unknown name is unreachable`() async {
    await #expect(code { _ = try await transport(1).dial(host: "nowhere.invalid", port: 1) } == .unreachable)
  }

  @Test func `A peer that says nothing is given up by the time-out`() async throws {
    // The listener is bound and not running, so the system accepts, and no process answers.
    let silent = try await transport(2).listen(host: "127.0.0.1", port: 0)
    var limits = TransportLimits()
    limits.handshakeTime = .milliseconds(50)
    let dialler = transport(1, limits: limits)
    await #expect(code { _ = try await dialler.dial(host: "127.0.0.1", port: silent.port) } == .timedOut)
    await silent.close()
  }

  @Test func `A dial that is cancelled ends at once`() async throws {
    let silent = try await transport(2).listen(host: "127.0.0.1", port: 0)
    let result = await withTaskGroup { group in
      group.addTask { await code { _ = try await transport(1).dial(host: "127.0.0.1", port: silent.port) } }
      group.cancelAll()
      return await group.next()
    }
    #expect(result == .closed)
    await silent.close()
  }

  @Test func `A listener that answers with another protocol is refused`() async throws {
    let server = try await GarbageServer.start(saying: Array("SSH-2.0-OpenSSH_9.2\r\n".utf8))
    await #expect(code { _ = try await transport(1).dial(host: "127.0.0.1", port: server.port) } == .handshake)
    await server.stop()
  }
}
