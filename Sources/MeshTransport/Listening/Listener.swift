import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A bound address. Nothing is accepted before `run`, which is called once; a listener that will not run is closed.
public struct Listener: Sendable {
  /// Where peers on this machine reach it; the port is the real one where 0 was asked for.
  public let host: String
  public let port: Int
  public var address: String { SocketAddress.hostAndPort(host, port) }

  let channel: any Channel
  let door: Door

  /// Serves each link in a task of its own until the task is cancelled; a link is closed when its `serve` returns.
  ///
  /// When it returns, all links are closed and the address is free. Throws `.addressUnavailable` where the system takes
  /// the listening socket away.
  public func run(_ serve: @escaping @Sendable (Link) async -> Void) async throws(TransportError) {
    channel.setOption(.autoRead, value: true).whenComplete { _ in }
    await withDiscardingTaskGroup { group in
      for await link in door.links {
        group.addTask {
          await serve(link)
          link.close()
          await link.waitUntilClosed()
          door.ended()
        }
      }
      await close()
    }
    guard Task.isCancelled else {
      throw TransportError(.addressUnavailable, "the system closed the listening socket at \(address)")
    }
  }

  /// Frees the address and ends the handshakes; links that are being served go on.
  public func close() async {
    door.close()
    // Fails only where it is closed already.
    try? await channel.close()
  }
}

/// What the accepting side of a listener shares: admission, and the links that wait to be served.
final class Door: Sendable {
  let links: AsyncStream<Link>
  private let continuation: AsyncStream<Link>.Continuation
  private let logger: Logger
  // Every access goes through the box's lock.
  private let state: NIOLockedValueBox<State>

  private struct State {
    var admission: Admission
    var halfOpen: [ObjectIdentifier: any Channel] = [:]
    var isClosed = false
  }

  init(limits: TransportLimits, logger: Logger) {
    state = NIOLockedValueBox(State(admission: Admission(limits: limits)))
    self.logger = logger
    (links, continuation) = AsyncStream.makeStream()
  }

  /// Takes a place for an accepted connection; throws where it is to be closed unheard.
  func admit(_ channel: any Channel, now: Int64) throws {
    let origin = channel.remoteAddress?.origin ?? []
    do {
      try state.withLockedValue { state in
        guard !state.isClosed else { throw TransportError(.closed, "the listener is closed") }
        try state.admission.admit(origin, now: now)
        state.halfOpen[ObjectIdentifier(channel)] = channel
      }
    } catch {
      logger.debug("refused a connection", metadata: Self.metadata(channel, error))
      throw error
    }
  }

  /// The handshake of an admitted connection ended.
  func finished(_ channel: any Channel, _ result: Result<Link, TransportError>) {
    let link = try? result.get()
    state.withLockedValue { state in
      state.halfOpen[ObjectIdentifier(channel)] = nil
      state.admission.finished(channel.remoteAddress?.origin ?? [], isLink: link != nil)
    }
    if case .failure(let error) = result {
      logger.debug("a handshake failed", metadata: Self.metadata(channel, error))
    }
    guard let link else { return }
    if case .enqueued = continuation.yield(link) { return }
    link.close()
    ended()
  }

  /// A link is no longer served.
  func ended() { state.withLockedValue { $0.admission.ended() } }

  func close() {
    let channels = state.withLockedValue { state in
      state.isClosed = true
      return state.halfOpen.values
    }
    continuation.finish()
    for channel in channels { channel.close(promise: nil) }
  }

  private static func metadata(_ channel: any Channel, _ error: any Error) -> Logger.Metadata {
    ["address": "\(channel.remoteAddress?.hostAndPort ?? "unknown")", "reason": "\(error)"]
  }
}
