/// The time between one revert and the next.
///
/// To revert change sets above a cutoff, the node reads the whole log of the zone, and a member can cause new cutoffs
/// repeatedly. Each revert is therefore followed by a pause that is nine times as long, but at most ten minutes. Cutoffs
/// that arrive during the pause are handled together. Change sets above a cutoff are not merged during the pause.
struct RevertPause {
  static let factor: Int64 = 9
  /// The longest pause, in milliseconds.
  static let longest: Int64 = 600_000

  /// The start of a revert that is not known to have ended, in milliseconds on the steady clock.
  private var began: Int64?
  private var end: Int64 = .min

  mutating func begin(now: Int64) { began = now }

  /// Notes that the next piece of work has begun. A revert that had begun has ended.
  mutating func noteWork(now: Int64) {
    guard let began else { return }
    let took = min(max(0, now &- began), Self.longest / Self.factor)
    end = now + took * Self.factor
    self.began = nil
  }

  func isOver(now: Int64) -> Bool { now >= end }
}
