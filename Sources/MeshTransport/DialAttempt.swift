import NIOConcurrencyHelpers
import NIOCore

/// The sockets of a dial that may be cancelled at any moment, even before they exist. A name with several addresses may
/// have several sockets.
final class DialAttempt: Sendable {
  // Every access goes through the box's lock.
  private let state = NIOLockedValueBox(State())

  private struct State {
    var channels: [any Channel] = []
    var isCancelled = false
  }

  /// Adds a socket. Throws if the attempt is already cancelled.
  func began(_ channel: any Channel) throws {
    try state.withLockedValue { state in
      guard !state.isCancelled else { throw TransportError(.closed, "the dial was cancelled") }
      state.channels.append(channel)
    }
  }

  func cancel() {
    let channels = state.withLockedValue { state in
      state.isCancelled = true
      return state.channels
    }
    for channel in channels { channel.close(promise: nil) }
  }
}
