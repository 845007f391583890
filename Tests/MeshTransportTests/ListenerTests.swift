import MeshCrypto
import MeshTransport
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ListenerTests {
  @Test("an address in use is named, with the way out") func anAddressInUseIsNamedWithTheWayOut() async throws {
    let taken = try await transport(1).listen(host: "127.0.0.1", port: 0)
    let error = await #expect(throws: TransportError.self) {
      _ = try await transport(2).listen(host: "127.0.0.1", port: taken.port)
    }
    #expect(
      error
        == TransportError(.addressInUse, "address \(taken.address) is in use; choose another with --listen"))
    await taken.close()
  }

  @Test("an address that is not of this machine is refused", arguments: ["192.0.2.1", "no such host"])
  func anAddressThatIsNotOfThisMachineIsRefused(host: String) async {
    await #expect(code { _ = try await transport(1).listen(host: host, port: 0) } == .addressUnavailable)
  }

  @Test("when the run is cancelled the links end and the address is free")
  func whenTheRunIsCancelledTheLinksEndAndTheAddressIsFree() async throws {
    let listener = try await transport(2).listen(host: "127.0.0.1", port: 0)
    let link = try await withThrowingTaskGroup { group in
      group.addTask { try await listener.run { _ in await untilCancelled() } }
      let link = try await transport(1).dial(host: "127.0.0.1", port: listener.port)
      group.cancelAll()
      try await group.waitForAll()
      return link
    }
    #expect(await link.firstMessage() == nil)
    #expect(link.closeReason?.code == .peerClosed)
    let again = try await transport(2).listen(host: "127.0.0.1", port: listener.port)
    await again.close()
  }

  @Test(
    "garbage is answered with silence and the end",
    arguments: [
      Array("GET / HTTP/1.1\r\nHost: here\r\n\r\n".utf8), [0xff, 0xff], [0, 33], [0, 0],
      frame([UInt8](repeating: 0, count: 32)),
    ])
  func garbageIsAnsweredWithSilenceAndTheEnd(bytes: [UInt8]) async throws {
    try await withListener { listener, _ in
      let answer = try await RawConnection.open(port: listener.port) { stream in
        try await stream.write(bytes)
        return await stream.readUntilClosed()
      }
      #expect(answer == [])
    }
  }

  @Test("a silent peer is cut off by the time-out, without a byte for it")
  func aSilentPeerIsCutOffByTheTimeOutWithoutAByteForIt() async throws {
    var limits = TransportLimits()
    limits.handshakeTime = .milliseconds(50)
    try await withListener(limits: limits) { listener, _ in
      let answer = try await RawConnection.open(port: listener.port) { await $0.readUntilClosed() }
      #expect(answer == [])
    }
  }

  @Test("a peer that gives up in the middle leaves its place to the next")
  func aPeerThatGivesUpInTheMiddleLeavesItsPlaceToTheNext() async throws {
    var limits = TransportLimits()
    limits.strangers = 1
    try await withListener(limits: limits) { listener, links in
      try await RawConnection.open(port: listener.port) { try await $0.write([0, 32, 1, 2, 3]) }
      let link = try await dialUntilAccepted(listener)
      #expect(await links.next()?.handshakeHash == link.handshakeHash)
      link.close()
    }
  }

  @Test("Half-open connections keep nobody out: the oldest is closed")
  func halfOpenConnectionsKeepNobodyOutTheOldestIsClosed() async throws {
    var limits = TransportLimits()
    limits.strangers = 3
    // The connections stay half-open as long as the test takes, even on a busy machine.
    limits.handshakeTime = .seconds(600)
    try await withListener(limits: limits) { listener, _ in
      try await RawConnection.open(port: listener.port) { first in
        try await first.write([0])
        try await RawConnection.open(port: listener.port) { second in
          try await second.write([0])
          try await RawConnection.open(port: listener.port) { third in
            try await third.write([0])
            let link = try await transport(1).dial(host: listener.host, port: listener.port)
            #expect(await first.readUntilClosed() == [])
            link.close()
          }
        }
      }
    }
  }

  @Test("links whose peers prove nothing keep nobody out, and one that was met stays")
  func linksWhosePeersProveNothingKeepNobodyOutAndOneThatWasMetStays() async throws {
    var limits = TransportLimits()
    limits.strangers = 2
    try await withListener(limits: limits) { listener, links in
      let known = try await transport(1).dial(host: listener.host, port: listener.port)
      await links.next()?.met()
      let silent = try await transport(3).dial(host: listener.host, port: listener.port)
      var others: [Link] = []
      for _ in 0..<2 { others.append(try await transport(3).dial(host: listener.host, port: listener.port)) }
      #expect(await silent.firstMessage() == nil)
      #expect(known.closeReason == nil && others.last?.closeReason == nil)
      for link in others + [known] { link.close() }
    }
  }

  @Test("the rate of one address is bounded, by the given clock") func theRateOfOneAddressIsBoundedByTheGivenClock()
    async throws
  {
    var limits = TransportLimits()
    (limits.connectionBurst, limits.connectionsPerSecond) = (2, 1)
    let clock = ManualClock()
    try await withListener(limits: limits, clock: clock) { listener, _ in
      func dial() async throws { try await transport(1).dial(host: listener.host, port: listener.port).close() }
      try await dial()
      try await dial()
      await #expect(code { try await dial() } == .peerClosed)
      clock.advance(by: 1_000)
      try await dial()
    }
  }

  private func dialUntilAccepted(_ listener: Listener) async throws -> Link {
    while true {
      try Task.checkCancellation()
      if let link = try? await transport(1).dial(host: listener.host, port: listener.port) { return link }
    }
  }
}
