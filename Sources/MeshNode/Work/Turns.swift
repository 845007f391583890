import MeshCore

/// Decides which waiting peer is served next: that of the account that has cost this node the least time.
///
/// One message is served at a time. The node's own tasks (merging, flushing, answering its users) therefore wait for
/// one message at most, even during a flood. A peer isn't delayed if no other peer waits.
///
/// It is fair queueing with the spent time as the cost. Each account has a virtual time, which grows by the time that
/// its messages took. Peers that have not identified themselves count as one account.
actor Turns {
  struct Turn: Sendable {
    fileprivate let account: AccountID?
  }

  private struct Waiter {
    let account: AccountID?
    let order: UInt64
    let start: CheckedContinuation<Void, Never>
  }

  private var isTaken = false
  private var waiters: [Waiter] = []
  private var order: UInt64 = 0
  /// The virtual time of each account that was served recently.
  private var spent: [AccountID?: Duration] = [:]
  /// The virtual time of the account that was served last. No later account begins before it. Otherwise an account
  /// could save up time by its silence and then flood the node.
  private var present = Duration.zero

  /// The number of peers that wait for their turn.
  var waiting: Int { waiters.count }

  /// The time until which an account rests, in all its sessions.
  private var rests: [AccountID: ContinuousClock.Instant] = [:]

  /// The maximum number of accounts whose times are remembered.
  private static let accounts = 4_096

  /// Waits for the account's turn. Call `end` for each turn.
  func take(_ account: AccountID?) async -> Turn {
    while let account, let until = rests[account], until > .now, !Task.isCancelled {
      try? await Task.sleep(until: until, clock: .continuous)
    }
    let begin = max(spent[account] ?? .zero, present)
    if spent.count >= Self.accounts, spent[account] == nil { spent = spent.filter { $0.value > present } }
    spent[account] = begin
    if isTaken {
      order += 1
      let place = order
      await withCheckedContinuation { waiters.append(Waiter(account: account, order: place, start: $0)) }
    } else {
      isTaken = true
    }
    present = max(present, spent[account] ?? .zero)
    return Turn(account: account)
  }

  func end(_ turn: Turn, after time: Duration) {
    spent[turn.account] = (spent[turn.account] ?? present) + time
    guard let next = waiters.indices.min(by: { rank(waiters[$0]) < rank(waiters[$1]) }) else {
      isTaken = false
      return
    }
    waiters.remove(at: next).start.resume()
  }

  /// Lets an account rest for as long as a message of it took that every member has to read. Such messages of an
  /// account take at most half of the node's time, so that other members keep up with what it passes on.
  func rest(_ account: AccountID, for time: Duration) {
    let now = ContinuousClock.now
    rests = rests.filter { $0.value > now }
    rests[account] = (rests[account] ?? now) + time
  }

  private func rank(_ waiter: Waiter) -> (Duration, UInt64) { (spent[waiter.account] ?? present, waiter.order) }
}
