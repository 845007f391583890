import MeshTransport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DialTests {
  @Test("nobody there is an error that names the address") func nobodyThereIsAnErrorThatNamesTheAddress() async throws {
    let free = try await transport(1).listen(host: "127.0.0.1", port: 0)
    await free.close()
    let error = await #expect(throws: TransportError.self) {
      _ = try await transport(1).dial(host: "127.0.0.1", port: free.port)
    }
    #expect(error?.code == .unreachable)
    #expect(error?.message.hasPrefix("\(free.address) cannot be reached: ") == true)
  }

  @Test("an unknown name is unreachable") func anUnknownNameIsUnreachable() async {
    await #expect(code { _ = try await transport(1).dial(host: "nowhere.invalid", port: 1) } == .unreachable)
  }

  @Test("a peer that says nothing is given up by the time-out") func aPeerThatSaysNothingIsGivenUpByTheTimeOut()
    async throws
  {
    // The listener is bound and not running, so the system accepts, and no process answers.
    let silent = try await transport(2).listen(host: "127.0.0.1", port: 0)
    var limits = TransportLimits()
    limits.handshakeTime = .milliseconds(50)
    let dialler = transport(1, limits: limits)
    await #expect(code { _ = try await dialler.dial(host: "127.0.0.1", port: silent.port) } == .timedOut)
    await silent.close()
  }

  @Test("a dial that is cancelled ends at once") func aDialThatIsCancelledEndsAtOnce() async throws {
    let silent = try await transport(2).listen(host: "127.0.0.1", port: 0)
    let result = await withTaskGroup { group in
      group.addTask { await code { _ = try await transport(1).dial(host: "127.0.0.1", port: silent.port) } }
      group.cancelAll()
      return await group.next()
    }
    #expect(result == .closed)
    await silent.close()
  }

  @Test("a listener that answers with another protocol is refused")
  func aListenerThatAnswersWithAnotherProtocolIsRefused() async throws {
    let server = try await GarbageServer.start(saying: Array("SSH-2.0-OpenSSH_9.2\r\n".utf8))
    await #expect(code { _ = try await transport(1).dial(host: "127.0.0.1", port: server.port) } == .handshake)
    await server.stop()
  }
}
