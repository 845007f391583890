import Dispatch
import Glibc
import Synchronization

/// One request and its answer in HTTP/1.1, over a connection of its own to a Unix socket.
package struct ControlExchange: Sendable {
  private let method: ControlMethod
  private let path: String
  private let body: [UInt8]
  /// From connecting to the whole answer.
  private let limit: Duration

  /// Prepares a request.
  ///
  /// - Parameters:
  ///   - path: The path of the URL, which begins with a slash.
  ///   - body: A JSON object, or no bytes.
  ///   - limit: The time from connecting to the whole answer.
  package init(method: ControlMethod, path: String, body: [UInt8], limit: Duration) {
    (self.method, self.path, self.body, self.limit) = (method, path, body, limit)
  }

  /// Bytes of an answer: thousands of conflicts with their values.
  static let answerLimit = 64 << 20
  /// Bytes of the status line and the headers.
  static let headLimit = 64 << 10

  /// The answer of a daemon.
  package struct Answer: Sendable {
    /// Whether the status is one of success.
    package let isSuccess: Bool
    /// The JSON of the answer, or of the refusal.
    package let body: [UInt8]
    /// The node's version of mesh, or nil if it is older than the first that says it.
    let version: MeshVersion?
  }

  /// Sends the request to the daemon that listens at `socket`, and returns its answer.
  package func run(on socket: String) async throws -> Answer {
    try Task.checkCancellation()
    guard let connection = ControlConnection(socket: socket, limit: limit) else {
      throw ControlClientError.noDaemon(socket)
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A queue of its own has a thread of its own as long as it waits.
        DispatchQueue(label: "mesh.control").async {
          continuation.resume(with: Result { try talk(over: connection) })
        }
      }
    } onCancel: {
      connection.cancel()
    }
  }

  private func talk(over connection: ControlConnection) throws -> Answer {
    try connection.connect()
    try connection.send(request)
    var received: [UInt8] = []
    var head: Head?
    while true {
      if head == nil, let end = Self.endOfHead(in: received) {
        guard let read = Head(received[..<end]) else { throw garbled }
        guard read.length <= Self.answerLimit else { throw ControlClientError.tooLong(path, read.length) }
        head = read
        received.removeFirst(end)
      }
      if let head, received.count >= head.length {
        return Answer(
          isSuccess: (200..<300).contains(head.status), body: Array(received.prefix(head.length)),
          version: head.version)
      }
      guard head != nil || received.count <= Self.headLimit else { throw garbled }
      try connection.receive(into: &received)
    }
  }

  private var garbled: ControlClientError { .garbled(path) }

  private var request: [UInt8] {
    var head = "\(method.rawValue) \(path) HTTP/1.1\r\nhost: mesh\r\nconnection: close\r\n"
    if method == .post { head += "content-type: application/json\r\ncontent-length: \(body.count)\r\n" }
    return Array((head + "\r\n").utf8) + body
  }

  private static func endOfHead(in bytes: [UInt8]) -> Int? {
    let end = Array("\r\n\r\n".utf8)
    return bytes.indices.dropLast(end.count - 1).first { bytes[$0..<$0 + end.count].elementsEqual(end) }
      .map { $0 + end.count }
  }

  /// The parts of an answer's head that the client needs. The daemon says the length of every answer.
  private struct Head {
    let status: Int
    let length: Int
    let version: MeshVersion?

    init?(_ bytes: ArraySlice<UInt8>) {
      let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
      func values(_ name: String) -> [Substring] {
        lines.dropFirst().compactMap { line in
          let parts = line.split(separator: ":", maxSplits: 1)
          guard parts.count == 2, parts[0].lowercased() == name else { return nil }
          return parts[1].split(separator: " ").first
        }
      }
      let lengths = values("content-length").compactMap { Int($0) }
      guard lengths.count == 1, lengths[0] >= 0 else { return nil }
      (self.status, length) = (status, lengths[0])
      version = values(MeshVersion.header).first.flatMap { MeshVersion(String($0)) }
    }
  }
}

/// A connection over which one thread talks, and which any thread may cancel.
private final class ControlConnection: Sendable {
  private let descriptor: Int32
  private let socket: String
  private let limit: Duration
  private let deadline: ContinuousClock.Instant
  private let isCancelled = Atomic(false)

  /// Nil if the path is empty or too long, or the system has no sockets left.
  init?(socket: String, limit: Duration) {
    guard (1...UnixSocket.pathLimit).contains(socket.utf8.count), let descriptor = UnixSocket.descriptor(SOCK_STREAM)
    else {
      return nil
    }
    (self.descriptor, self.socket, self.limit) = (descriptor, socket, limit)
    deadline = .now + limit
  }

  // The thread and the canceller both hold the connection, so neither finds the number in other hands.
  deinit { close(descriptor) }

  func cancel() {
    isCancelled.store(true, ordering: .sequentiallyConsistent)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  func connect() throws {
    // While the daemon's queue is full there is nothing to poll for.
    let result = try retrying {
      poll(nil, 0, Self.connectPause)
    } step: {
      UnixSocket.withAddress(of: socket) { Int(Glibc.connect(descriptor, $0, $1)) } ?? -1
    }
    guard result != nil else { throw ControlClientError.noDaemon(socket) }
  }

  /// Milliseconds.
  private static let connectPause: Int32 = 10

  /// Sends all of it, unless the daemon stops reading: then it has answered already, or is gone.
  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = try retrying(POLLOUT) {
        rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
      guard let count else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Appends what has come, and waits if there is nothing.
  func receive(into bytes: inout [UInt8]) throws {
    var chunk = [UInt8](repeating: 0, count: Self.chunk)
    let count = try retrying(POLLIN) {
      chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    }
    guard let count, count > 0 else {
      throw isCancelled.load(ordering: .sequentiallyConsistent) ? CancellationError() : ControlClientError.closed
    }
    bytes += chunk[..<count]
  }

  private static let chunk = 64 << 10

  private func retrying(_ events: Int32, _ step: () -> Int) throws -> Int? {
    try retrying(
      pause: { [descriptor, deadline] in
        var polled = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        let left = min((deadline - .now) / .milliseconds(1), Self.pollLimit)
        _ = poll(&polled, 1, Int32(max(0, left)) + 1)
      }, step: step)
  }

  /// Milliseconds: the system takes no more than fit into 32 bits.
  private static let pollLimit = 60_000.0

  /// Calls `step` until it doesn't ask to wait. Returns nil if it fails.
  private func retrying(pause: () -> Void, step: () -> Int) throws -> Int? {
    while true {
      if isCancelled.load(ordering: .sequentiallyConsistent) { throw CancellationError() }
      guard ContinuousClock.now < deadline else { throw ControlClientError.notAnswering(socket, limit) }
      let result = step()
      if result >= 0 { return result }
      switch errno {
      case EINTR: continue
      case EAGAIN: pause()
      default: return nil
      }
    }
  }
}
