import MeshCore

/// What somebody may have at once, and what flows back with time: a leaky bucket.
struct Allowance: Sendable {
  private var used: Int64 = 0
  private var since: Int64 = 0

  /// Takes an amount, unless what was taken before is still over the bound. So an amount of any size is given in the end.
  ///
  /// - Parameters:
  ///   - bound: What may be taken at once.
  ///   - rate: What flows back in a millisecond.
  ///   - now: On the steady clock.
  mutating func take(_ amount: Int, bound: Int, rate: Int, now: Int64) -> Bool {
    used = left(rate: rate, now: now)
    since = now
    guard used < Int64(bound) else { return false }
    used = used.saturatingAdding(Int64(amount))
    return true
  }

  /// Gives back an amount that somebody else answers for now.
  mutating func giveBack(_ amount: Int) { used = max(0, used.saturatingSubtracting(Int64(amount))) }

  /// What has not flowed back yet.
  func left(rate: Int, now: Int64) -> Int64 {
    let passed = max(0, now.saturatingSubtracting(since))
    return max(0, used.saturatingSubtracting(passed.saturatingMultiplied(by: Int64(rate))))
  }
}
