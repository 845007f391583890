/// The time between one cut and the next.
///
/// A cut reads the whole log of a zone, for any author that it ends, and a member can cause cuts repeatedly. Each cut
/// is therefore followed by a pause that is nine times as long as the cut, but at most ten minutes. Cuts that arrive
/// during the pause are carried out together. Change sets beyond a cut are not merged during the pause.
struct CutPause {
  static let factor: Int64 = 9
  /// The longest pause, in milliseconds.
  static let longest: Int64 = 600_000

  /// The start of a cut that is not known to have ended, in milliseconds on the steady clock.
  private var began: Int64?
  private var end: Int64 = .min

  mutating func begin(now: Int64) { began = now }

  /// Notes that the next piece of work has begun. A cut that had begun has ended.
  mutating func noteWork(now: Int64) {
    guard let began else { return }
    let took = min(max(0, now &- began), Self.longest / Self.factor)
    end = now + took * Self.factor
    self.began = nil
  }

  func isOver(now: Int64) -> Bool { now >= end }
}
