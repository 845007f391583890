import MeshCore

/// A leaky bucket: it bounds how much an account or a device may take at once, and refills with time.
struct Allowance: Sendable {
  private var used: Int64 = 0
  private var since: Int64 = 0

  /// Takes an amount, unless the amounts taken before still exceed the bound. A request of any size therefore succeeds
  /// eventually.
  ///
  /// - Parameters:
  ///   - bound: The amount that may be taken at once.
  ///   - rate: The amount that flows back in a millisecond.
  ///   - now: The time on the steady clock, in milliseconds.
  /// - Returns: False if nothing was taken.
  mutating func take(_ amount: Int, bound: Int, rate: Int, now: Int64) -> Bool {
    used = left(rate: rate, now: now)
    since = now
    guard used < Int64(bound) else { return false }
    used = used.saturatingAdding(Int64(amount))
    return true
  }

  /// Returns an amount to the bucket, because another bucket accounts for it now.
  mutating func giveBack(_ amount: Int) { used = max(0, used.saturatingSubtracting(Int64(amount))) }

  /// Returns the amount that has not flowed back yet.
  func left(rate: Int, now: Int64) -> Int64 {
    let passed = max(0, now.saturatingSubtracting(since))
    return max(0, used.saturatingSubtracting(passed.saturatingMultiplied(by: Int64(rate))))
  }
}

/// The allowances of several accounts or invites.
struct Allowances<Key: Hashable> {
  /// The amount that flows back in a millisecond.
  let rate: Int
  private(set) var entries: [Key: Allowance] = [:]

  init(rate: Int) { self.rate = rate }

  /// Takes an amount from an allowance. Returns false if nothing was taken.
  @discardableResult
  mutating func take(_ amount: Int, of key: Key, bound: Int = .max, now: Moment) -> Bool {
    entries[key, default: Allowance()].take(amount, bound: bound, rate: rate, now: now.steady)
  }

  mutating func giveBack(_ amount: Int, of key: Key) { entries[key]?.giveBack(amount) }

  /// Forgets the allowances from which nothing is taken.
  mutating func forgetUnused(now: Moment) {
    entries = entries.filter { $0.value.left(rate: rate, now: now.steady) > 0 }
  }
}
