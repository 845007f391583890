import MeshCore
import MeshCrypto
import Testing

@testable import MeshTransport

@Suite(.timeLimit(.minutes(1)))
struct LinkTests {
  @Test("both ends know the same session and each other's key") func bothEndsKnowTheSameSessionAndEachOthersKey()
    async throws
  {
    try await withLinks { dialled, accepted in
      #expect(dialled.handshakeHash == accepted.handshakeHash)
      #expect((dialled.role, accepted.role) == (.dialler, .listener))
      #expect(dialled.remoteStatic == keys(2).sessionKey)
      #expect(accepted.remoteStatic == keys(1).sessionKey)
      #expect(accepted.remoteAddress.hasPrefix("127.0.0.1:"))
    }
  }

  @Test("messages of all sizes arrive whole and in order, both ways")
  func messagesOfAllSizesArriveWholeAndInOrderBothWays() async throws {
    let sizes = [1, 65_517, 65_518, 65_519, 65_520, 1 << 20, Limits.message, 2]
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
      try await wait { dialled.queuedBytes == 0 && accepted.queuedBytes == 0 }
    }
  }

  @Test("messages from many tasks arrive once each") func messagesFromManyTasksArriveOnceEach() async throws {
    try await withLinks { dialled, accepted in
      await withTaskGroup { group in
        for task in 0..<8 {
          group.addTask {
            for number in 0..<500 { dialled.send([UInt8(task), UInt8(number >> 8), UInt8(number & 0xff)]) }
          }
        }
      }
      var next = [Int](repeating: 0, count: 8)
      var messages = accepted.messages.makeAsyncIterator()
      for _ in 0..<4_000 {
        let message = try #require(await messages.next())
        #expect(next[Int(message[0])] == Int(message[1]) << 8 | Int(message[2]))
        next[Int(message[0])] += 1
      }
      #expect(next == [Int](repeating: 500, count: 8))
    }
  }

  @Test("a message of a forbidden size ends the link", arguments: [0, Limits.message + 1])
  func aMessageOfAForbiddenSizeEndsTheLink(size: Int) async throws {
    try await withLinks { dialled, accepted in
      dialled.send([UInt8](repeating: 0, count: size))
      #expect(dialled.closeReason?.code == .messageSize)
      #expect(await accepted.firstMessage() == nil)
      #expect(accepted.closeReason?.code == .peerClosed)
    }
  }

  @Test("closing sends what is queued first") func closingSendsWhatIsQueuedFirst() async throws {
    var limits = TransportLimits()
    limits.lingerTime = .seconds(120)
    try await withLinks(dialler: limits) { dialled, accepted in
      for number in 0..<20 { dialled.send([UInt8](repeating: UInt8(number), count: 500_000)) }
      dialled.close(TransportError(.closed, "enough"))
      dialled.send([99])
      var received: [UInt8] = []
      for await message in accepted.messages { received.append(message[0]) }
      #expect(received == Array(0..<20))
      #expect(dialled.closeReason == TransportError(.closed, "enough"))
      await dialled.waitUntilClosed()
      #expect(await dialled.firstMessage() == nil)
    }
  }

  @Test("a peer that does not read ends the link when the queue is full")
  func aPeerThatDoesNotReadEndsTheLinkWhenTheQueueIsFull() async throws {
    var limits = TransportLimits()
    (limits.outboundBytes, limits.inboundBytes) = (4 << 20, 1 << 20)
    try await withLinks(dialler: limits, listener: limits) { dialled, _ in
      // The queue is filled only while it is short. Otherwise this would never end with a reading peer.
      try await wait {
        if dialled.queuedBytes < 2 << 20 { dialled.send(counting(1 << 20)) }
        return dialled.queuedBytes >= 2 << 20
      }
      for _ in 0..<64 where dialled.closeReason == nil { dialled.send(counting(1 << 20)) }
      try #require(dialled.closeReason?.code == .overloaded)
      await dialled.waitUntilClosed()
      try await wait { dialled.queuedBytes == 0 }
    }
  }

  @Test("messages that nobody consumes stop the reading, and consuming resumes it")
  func messagesThatNobodyConsumesStopTheReadingAndConsumingResumesIt() async throws {
    var (sending, receiving) = (TransportLimits(), TransportLimits())
    (sending.outboundBytes, receiving.inboundBytes) = (64 << 20, 1 << 20)
    try await withLinks(dialler: sending, listener: receiving) { dialled, accepted in
      for _ in 0..<40 { dialled.send(counting(1 << 20)) }
      try await wait { accepted.unconsumedBytes > 1 << 20 }
      var messages = accepted.messages.makeAsyncIterator()
      for _ in 0..<40 {
        // The bytes are the bound, plus those that the reads of one turn of the event loop bring.
        #expect(accepted.unconsumedBytes < 4 << 20)
        #expect(await messages.next()?.count == 1 << 20)
      }
    }
  }

  @Test("a bad link does not disturb the others") func aBadLinkDoesNotDisturbTheOthers() async throws {
    try await withListener { listener, links in
      let one = try await transport(1).dial(host: listener.host, port: listener.port)
      let two = try await transport(3).dial(host: listener.host, port: listener.port)
      let (first, second) = (try #require(await links.next()), try #require(await links.next()))
      let rest = try await RawConnection.open(port: listener.port) { stream in
        var handshake = NoiseHandshake(role: .dialler, keys: keys(4), randomness: SystemRandomness())
        try await stream.write(frame(try handshake.writeMessage()))
        try handshake.readMessage(Array(try await stream.read(98).dropFirst(2)))
        try await stream.write(frame(try handshake.writeMessage()))
        try await stream.write(frame(counting(1_000)))
        return await stream.readUntilClosed()
      }
      #expect(rest == [])
      let bad = try #require(await links.next())
      #expect(await bad.firstMessage() == nil)
      #expect(bad.closeReason?.code == .framing)
      for (link, other) in [(one, first), (two, second)] {
        link.send(counting(200_000))
        #expect(await other.firstMessage() == counting(200_000))
        link.close()
      }
    }
  }

  @Test("a stream that ends inside a message delivers nothing of it")
  func aStreamThatEndsInsideAMessageDeliversNothingOfIt() async throws {
    try await withListener { listener, links in
      try await RawConnection.open(port: listener.port) { stream in
        var handshake = NoiseHandshake(role: .dialler, keys: keys(4), randomness: SystemRandomness())
        try await stream.write(frame(try handshake.writeMessage()))
        try handshake.readMessage(Array(try await stream.read(98).dropFirst(2)))
        try await stream.write(frame(try handshake.writeMessage()))
        var session = try handshake.split()
        try await stream.write(frame(try session.encrypt([1, 42])))
        try await stream.write(frame(try session.encrypt([0] + counting(65_518))))
        try await stream.write(Array(frame(try session.encrypt([1, 43])).dropLast()))
      }
      let link = try #require(await links.next())
      var messages: [[UInt8]] = []
      for await message in link.messages { messages.append(message) }
      #expect(messages == [[42]])
      #expect(link.closeReason?.code == .peerClosed)
    }
  }
}

extension Link {
  func firstMessage() async -> [UInt8]? {
    var messages = messages.makeAsyncIterator()
    return await messages.next()
  }
}
