import MeshCore
import MeshCrypto
import Testing

@testable import MeshTransport

@Suite("A network inside the process", .timeLimit(.minutes(1)))
struct LocalNetworkTests {
  private func transport(_ key: UInt8, on network: LocalNetwork) -> Transport {
    Transport(keys: keys(key), randomness: SystemRandomness(), clock: ManualClock(), network: network)
  }

  /// Runs `body` with a dialled link and its other end.
  private func withLinks(_ body: (_ dialled: Link, _ accepted: Link) async throws -> Void) async throws {
    let network = LocalNetwork()
    let listener = try await transport(2, on: network).listen(host: LocalNetwork.host, port: 0)
    let (accepted, continuation) = AsyncStream<Link>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await listener.run { link in
          continuation.yield(link)
          await link.waitUntilClosed()
        }
      }
      let dialled = try await transport(1, on: network).dial(host: listener.host, port: listener.port)
      for await link in accepted {
        try await body(dialled, link)
        dialled.close()
        break
      }
      group.cancelAll()
    }
  }

  @Test("both ends know the same session and each other's key")
  func session() async throws {
    try await withLinks { dialled, accepted in
      #expect(dialled.handshakeHash == accepted.handshakeHash)
      #expect((dialled.role, accepted.role) == (.dialler, .listener))
      #expect(dialled.remoteStatic == keys(2).sessionKey)
      #expect(accepted.remoteStatic == keys(1).sessionKey)
    }
  }

  @Test("messages arrive whole and in order, both ways")
  func messages() async throws {
    let sizes = [1, 65_520, 1 << 20, 2]
    try await withLinks { dialled, accepted in
      for size in sizes {
        dialled.send(counting(size))
        accepted.send(counting(size).reversed())
      }
      var (there, back) = (accepted.messages.makeAsyncIterator(), dialled.messages.makeAsyncIterator())
      for size in sizes {
        #expect(await there.next() == counting(size))
        #expect(await back.next() == counting(size).reversed())
      }
      #expect((dialled.queuedBytes, accepted.queuedBytes) == (0, 0))
    }
  }

  @Test("a message that is too long ends the link on both ends")
  func tooLong() async throws {
    try await withLinks { dialled, accepted in
      dialled.send([UInt8](repeating: 0, count: Limits.message + 1))
      var messages = accepted.messages.makeAsyncIterator()
      #expect(await messages.next() == nil)
      #expect(dialled.closeReason?.code == .messageSize)
      #expect(accepted.closeReason?.code == .peerClosed)
      await dialled.waitUntilClosed()
    }
  }

  @Test("messages sent before the end arrive")
  func close() async throws {
    try await withLinks { dialled, accepted in
      dialled.send([1])
      dialled.close()
      var messages = accepted.messages.makeAsyncIterator()
      #expect(await messages.next() == [1])
      #expect(await messages.next() == nil)
    }
  }

  @Test("a node gets its own port again, an address has one listener, and other addresses don't answer")
  func addresses() async throws {
    let network = LocalNetwork()
    let (one, other) = (transport(1, on: network), transport(2, on: network))
    let first = try await one.listen(host: LocalNetwork.host, port: 0)
    let second = try await other.listen(host: LocalNetwork.host, port: 0)
    #expect(first.port != second.port)
    #expect(await code { _ = try await other.listen(host: LocalNetwork.host, port: first.port) } == .addressInUse)
    await first.close()
    #expect(await code { _ = try await other.dial(host: LocalNetwork.host, port: first.port) } == .unreachable)
    #expect(try await one.listen(host: LocalNetwork.host, port: 0).port == first.port)
    #expect(await code { _ = try await one.dial(host: "tower.example", port: second.port) } == .unreachable)
  }
}
