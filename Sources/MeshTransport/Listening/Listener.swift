import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A bound address. It accepts nothing before `run`, which is called once. Close a listener that will not run.
package struct Listener: Sendable {
  /// The address for peers on this machine. The port is the real one if 0 was requested.
  package let host: String
  package let port: Int
  package var address: String { SocketAddress.hostAndPort(host, port) }

  /// The accepted links. Each is served as soon as `run` was called.
  let links: AsyncStream<Link>
  let beginAccepting: @Sendable () -> Void
  /// Frees the address and ends the handshakes.
  let free: @Sendable () async -> Void

  /// Serves each link in a task of its own until the task is cancelled. A link is closed when its `serve` returns.
  ///
  /// When this returns, all links are closed and the address is free. Throws `.addressUnavailable` if the system closes
  /// the listening socket.
  package func run(_ serve: @escaping @Sendable (Link) async -> Void) async throws(TransportError) {
    beginAccepting()
    await withDiscardingTaskGroup { group in
      for await link in links {
        group.addTask {
          await serve(link)
          link.close()
          await link.waitUntilClosed()
        }
      }
      await close()
    }
    guard Task.isCancelled else {
      throw TransportError(.addressUnavailable, "the system closed the listening socket at \(address)")
    }
  }

  /// Frees the address and ends the handshakes. Links that are being served continue.
  package func close() async { await free() }
}

/// The shared state of a listener's accepting side: admission, and the links that wait to be served.
final class Door: Sendable {
  let links: AsyncStream<Link>
  private let continuation: AsyncStream<Link>.Continuation
  private let logger: Logger
  // Every access goes through the box's lock.
  private let state: NIOLockedValueBox<State>

  private struct State {
    var admission: Admission
    var channels: [Admission.Place: any Channel] = [:]
    var handshakes: Set<Admission.Place> = []
    var isClosed = false
  }

  init(limits: TransportLimits, logger: Logger) {
    state = NIOLockedValueBox(State(admission: Admission(limits: limits)))
    self.logger = logger
    (links, continuation) = AsyncStream.makeStream()
  }

  /// Takes a place for an accepted connection. Throws if the connection has to be closed immediately.
  func admit(_ channel: any Channel, now: Int64) throws -> Admission.Place {
    do {
      let (place, evicted) = try state.withLockedValue { state in
        guard !state.isClosed else { throw TransportError(.closed, "the listener is closed") }
        let (place, evicted) = try state.admission.admit(channel.remoteAddress?.origin ?? [], now: now)
        state.channels[place] = channel
        state.handshakes.insert(place)
        return (place, evicted.flatMap { state.channels[$0] })
      }
      channel.closeFuture.whenComplete { [self] _ in left(place) }
      evicted?.close(promise: nil)
      return place
    } catch {
      logger.debug("refused a connection", metadata: Self.metadata(channel, error))
      throw error
    }
  }

  /// Handles the end of an admitted connection's handshake.
  func finished(_ place: Admission.Place, _ channel: any Channel, _ result: Result<Link, TransportError>) {
    state.withLockedValue { _ = $0.handshakes.remove(place) }
    switch result {
    case .failure(let error): logger.debug("a handshake failed", metadata: Self.metadata(channel, error))
    case .success(let link):
      if case .enqueued = continuation.yield(link) { return }
      link.close()
    }
  }

  /// Notes that the peer of an admitted connection has proven its identity.
  func met(_ place: Admission.Place) { state.withLockedValue { _ = $0.admission.met(place) } }

  private func left(_ place: Admission.Place) {
    state.withLockedValue { state in
      state.admission.left(place)
      state.channels[place] = nil
      state.handshakes.remove(place)
    }
  }

  func close() {
    let channels = state.withLockedValue { state in
      state.isClosed = true
      return state.handshakes.compactMap { state.channels[$0] }
    }
    continuation.finish()
    for channel in channels { channel.close(promise: nil) }
  }

  private static func metadata(_ channel: any Channel, _ error: any Error) -> Logger.Metadata {
    ["address": "\(channel.remoteAddress?.hostAndPort ?? "unknown")", "reason": "\(error)"]
  }
}
