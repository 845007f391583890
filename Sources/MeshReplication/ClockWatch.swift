import MeshCore

/// Whether this machine's clock can be believed: against its own past, and against what the account's other devices say of
/// theirs. Nobody else has a vote: a participant of a share must not be able to stop what is written here.
struct ClockWatch: Sendable {
  /// Nil where change sets may be signed.
  private(set) var fault: ClockFault?
  /// Wall clock less steady clock, as it was last believed.
  private var believed: Int64?
  /// When the wall clock left it, on the steady clock.
  private var jumped: Int64?
  /// What the nearest of those said that spoke against this clock.
  private var contradiction: Int64?

  /// Drops what was said against this clock: whoever said it may have been revoked.
  mutating func forgetContradiction() { contradiction = nil }

  /// - Parameter peers: Of each of the account's devices that told its time, its wall clock less our steady one.
  mutating func look(_ now: Moment, peers: [Int64]) {
    let offset = now.wall &- now.steady
    let behind = peers.filter { offset &- $0 > Choices.clockBound }
    if 2 * behind.count > peers.count, let nearest = behind.max() {
      fault = .ahead(by: offset &- nearest, of: behind.count, outOf: peers.count)
      contradiction = nearest
      return
    }
    // Nobody takes back what they said by going away.
    if peers.isEmpty, let contradiction, offset &- contradiction > Choices.clockBound { return }
    contradiction = nil
    let jump = offset &- (believed ?? offset)
    let since = jumped ?? now.steady
    // Peers that agree settle it; so does time, where nobody is there to ask: clocks are set right by jumps as well.
    if jump <= Choices.clockBound || !peers.isEmpty || now.steady - since > Choices.clockBound {
      (fault, believed, jumped) = (nil, offset, nil)
    } else {
      (fault, jumped) = (.jumped(by: jump), since)
    }
  }
}

/// Why this machine's clock is not believed. In milliseconds.
enum ClockFault: Sendable, Equatable {
  case ahead(by: Int64, of: Int, outOf: Int)
  case jumped(by: Int64)

  var text: String {
    switch self {
    case .ahead(let by, let count, let all):
      "this machine's clock is \(by / 1_000) seconds ahead of \(count) of \(all) other devices of the account: "
        + "set the wrong clock right"
    case .jumped(let by):
      "this machine's clock jumped ahead by \(by / 1_000) seconds: they wait for a device that agrees with it, "
        + "or for \(Choices.clockBound / 60_000) minutes"
    }
  }
}

extension Replica {
  func watchClock(_ now: Moment) {
    let before = clockWatch.fault
    let own = sessions.values.filter { $0.peer?.account == account.id }
    clockWatch.look(now, peers: own.compactMap(\.clock))
    guard clockWatch.fault == nil else {
      if before == nil, let fault = clockWatch.fault {
        actions.append(.log(.warning, "nothing is signed: \(fault.text)"))
      }
      return
    }
    if before != nil {
      needsFlush = true
      actions.append(.log(.info, "the clock is right again: writing on"))
    }
  }
}
