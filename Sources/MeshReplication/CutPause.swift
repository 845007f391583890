/// The time between one cut and the next. A cut reads all of a zone's log, whoever it ends, and a member can make others cut it again and
/// again: so cuts take a tenth of the time at most, and those that come meanwhile are carried out as one. Nothing beyond a cut is merged
/// in the pause.
struct CutPause {
  /// Times as long as the cut took.
  static let factor: Int64 = 9
  /// Milliseconds.
  static let longest: Int64 = 600_000

  /// When the last cut began, until it is known how long it took; on the steady clock, in milliseconds.
  private var began: Int64?
  private var end: Int64 = .min

  mutating func begin(now: Int64) { began = now }

  /// To be asked as soon as something else is done after a cut.
  mutating func isOver(now: Int64) -> Bool {
    if let began {
      self.began = nil
      let took = min(max(0, now &- began), Self.longest / Self.factor)
      end = now + took * Self.factor
    }
    return now >= end
  }
}
