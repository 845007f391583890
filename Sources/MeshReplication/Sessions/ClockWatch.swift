import MeshCore

/// Judges whether this machine's clock can be believed. It compares the clock with its own past and with the clocks of
/// the account's other devices.
///
/// Devices of other accounts have no vote, because a participant of a share must not be able to stop local writes.
struct ClockWatch: Sendable {
  /// The reason that change sets can't be signed, or nil if they can.
  private(set) var fault: ClockFault?
  /// The difference of wall clock and steady clock at the time it was last believed, in milliseconds.
  private var believed: Int64?
  /// The steady time at which the wall clock left that difference.
  private var jumped: Int64?
  /// The nearest of the offsets that contradicted this clock.
  private var contradiction: Int64?

  /// Forgets statements against this clock, because the device that made them may have been revoked.
  mutating func forgetContradiction() { contradiction = nil }

  /// Judges the clock.
  ///
  /// - Parameter peers: For each of the account's devices that told its time, the difference of its wall clock and this
  ///   node's steady clock.
  mutating func look(_ now: Moment, peers: [Int64]) {
    let offset = now.wall &- now.steady
    let behind = peers.filter { offset &- $0 > Choices.clockBound }
    if 2 * behind.count > peers.count, let nearest = behind.max() {
      fault = .ahead(by: offset &- nearest, of: behind.count, outOf: peers.count)
      contradiction = nearest
      return
    }
    // A contradiction stays valid after the device that caused it has disconnected.
    if peers.isEmpty, let contradiction, offset &- contradiction > Choices.clockBound { return }
    contradiction = nil
    let jump = offset &- (believed ?? offset)
    let since = jumped ?? now.steady
    // Peers that agree settle the question. Without peers, time settles it, because a clock is also corrected by a
    // jump.
    if jump <= Choices.clockBound || !peers.isEmpty || now.steady - since > Choices.clockBound {
      (fault, believed, jumped) = (nil, offset, nil)
    } else {
      (fault, jumped) = (.jumped(by: jump), since)
    }
  }
}

/// The reason that this machine's clock is not believed. Times are in milliseconds.
enum ClockFault: Sendable, Equatable {
  case ahead(by: Int64, of: Int, outOf: Int)
  case jumped(by: Int64)

  var text: String {
    switch self {
    case .ahead(let by, let count, let all):
      "this machine's clock is \(by / 1_000) seconds ahead of \(count) of \(all) other devices of the account: "
        + "set the wrong clock right"
    case .jumped(let by):
      "this machine's clock jumped ahead by \(by / 1_000) seconds: rows stay pending until another device "
        + "agrees with it, or for \(Choices.clockBound / 60_000) minutes"
    }
  }
}

/// Decides whether this machine's clock is believed, and tells peers its time.
final class Clocks: Part {
  /// The milliseconds between two announcements of this machine's time.
  private static let interval: Int64 = 60_000

  let context: Context
  private var watch = ClockWatch()
  private var lastTold: Int64 = .min
  /// The number of the account's revocations at the last look.
  private var revocations = 0

  init(_ context: Context) { self.context = context }

  /// The reason that change sets can't be signed, or nil if they can.
  var fault: ClockFault? { watch.fault }

  func look(_ now: Moment) {
    if account.revocations.count > revocations { watch.forgetContradiction() }
    revocations = account.revocations.count
    let before = watch.fault
    let own = sessions.values.filter { $0.peer?.account == account.id }
    watch.look(now, peers: own.compactMap(\.clockOffset))
    if let fault = watch.fault {
      if before == nil {
        probe?(.clockNotBelieved)
        outbox.log(.warning, "nothing is signed: \(fault.text)")
      }
    } else if before != nil {
      due.note(.flush)
      outbox.log(.info, "the clock is right again: this node signs again")
    }
  }

  /// Tells the peers the time, once in an interval.
  func tell(_ now: Moment) {
    guard now.steady &- lastTold > Self.interval || lastTold == .min else { return }
    lastTold = now.steady
    for link in sessions.openLinks { sessions.send(link, .clock(now.wall)) }
  }
}
