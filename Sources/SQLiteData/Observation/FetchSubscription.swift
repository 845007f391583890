import Synchronization

/// The observation that a call of `load` started.
///
/// ```swift
/// // Observes until the surrounding task is cancelled:
/// try await $reminders.load(Reminder.where { $0.title.contains(text) }).task
/// ```
///
/// You can ignore the subscription. The property then observes until another query is loaded.
public struct FetchSubscription: Sendable {
  private let ending: Ending

  init(onEnd: @escaping @Sendable () -> Void) {
    ending = Ending(onEnd: onEnd)
  }

  /// Waits until the surrounding task is cancelled or ``cancel()`` is called, and then stops the observation. The
  /// property keeps its value.
  public var task: Void {
    get async throws {
      await withTaskCancellationHandler {
        await ending.wait()
      } onCancel: {
        ending.end()
      }
    }
  }

  /// Stops the observation. The property keeps its value.
  public func cancel() { ending.end() }

  private final class Ending: Sendable {
    private struct State {
      var hasEnded = false
      var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    func wait() async {
      await withCheckedContinuation { continuation in
        let hasEnded = state.withLock { state in
          if !state.hasEnded { state.waiters.append(continuation) }
          return state.hasEnded
        }
        if hasEnded { continuation.resume() }
      }
    }

    func end() {
      let waiters: [CheckedContinuation<Void, Never>]? = state.withLock { state in
        guard !state.hasEnded else { return nil }
        state.hasEnded = true
        defer { state.waiters = [] }
        return state.waiters
      }
      guard let waiters else { return }
      onEnd()
      for waiter in waiters { waiter.resume() }
    }
  }
}
