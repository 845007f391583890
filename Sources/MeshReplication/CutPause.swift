/// The time between one cut and the next. A cut reads all of a zone's log, whoever it ends, and a member
/// can make others cut again and again. So a pause follows each that is nine times as long, ten minutes at
/// most, and what comes meanwhile is carried out as one cut. Nothing beyond a cut is merged in the pause.
struct CutPause {
  static let factor: Int64 = 9
  /// Milliseconds.
  static let longest: Int64 = 600_000

  /// When the cut began that is not known to have ended; on the steady clock, in milliseconds.
  private var began: Int64?
  private var end: Int64 = .min

  mutating func begin(now: Int64) { began = now }

  /// The next work has begun: a cut that had begun has ended.
  mutating func noteWork(now: Int64) {
    guard let began else { return }
    let took = min(max(0, now &- began), Self.longest / Self.factor)
    end = now + took * Self.factor
    self.began = nil
  }

  func isOver(now: Int64) -> Bool { now >= end }
}
