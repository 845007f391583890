import MeshCore

/// Who is served next, of those whose messages wait: the account that has cost this node the least time. One message is served at a
/// time, so what the node does of its own (merging, flushing, answering its users) waits for one message at most, whoever
/// floods. Where nobody else waits, nobody is kept waiting.
///
/// It is fair queueing with the time that was spent as the cost: each account has a virtual time, which grows by what its
/// messages took. Peers that have not said who they are count as one.
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
  /// The virtual time of each account that was served of late.
  private var spent: [AccountID?: Duration] = [:]
  /// That of whoever was served last: nobody who comes later begins before it, or silence would be saved up for a flood.
  private var present = Duration.zero

  /// How many wait for their turn.
  var waiting: Int { waiters.count }

  /// Accounts whose times are remembered.
  private static let accounts = 4_096

  /// Returns when it is the account's turn. `end` is to be called for each turn.
  func take(_ account: AccountID?) async -> Turn {
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

  private func rank(_ waiter: Waiter) -> (Duration, UInt64) { (spent[waiter.account] ?? present, waiter.order) }
}
