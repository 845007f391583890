/// How a simulated world treats its nodes. Times in virtual milliseconds; chances as one in that many steps, 0 for never.
public struct Profile: Sendable {
  public enum Topology: String, Sendable, CaseIterable {
    /// Each node knows its neighbours only: what goes further is relayed.
    case line
    /// A random tree, and about half as many shortcuts.
    case random
  }

  public var topology = Topology.random
  /// Between two steps at most.
  public var pause: Int64 = 800
  public var latency: ClosedRange<Int64> = 1...120
  /// What a message may be late beyond the latency.
  public var jitter: Int64 = 40
  /// One link in that many is slow, and carries so many bytes in a millisecond.
  public var slowLinks = 6
  public var slowRate: ClosedRange<Int> = 2...40
  /// Ahead or behind, for each wall clock at the start, and for each jump.
  public var clockError: Int64 = 2_000
  public var clockJumps = 40
  /// A link is cut, and both ends notice; or neither does before its time-out.
  public var cuts = 14
  public var silentCuts = 40
  public var partitions = 40
  public var partitionTime: ClosedRange<Int64> = 2_000...40_000
  public var crashes = 30
  public var downTime: ClosedRange<Int64> = 100...15_000
  /// Steps that write; of the others, nothing happens.
  public var writes = 100
  /// Every node knows only the first device's certificate and its own, as after linking.
  public var meetsGradually = true

  public static let ordinary = Profile()

  public static let crashing: Profile = {
    var profile = Profile()
    profile.crashes = 5
    profile.downTime = 50...4_000
    return profile
  }()

  public static let partitioned: Profile = {
    var profile = Profile()
    profile.partitions = 8
    profile.cuts = 6
    profile.silentCuts = 12
    return profile
  }()

  /// Wall clocks wrong by more than the bound, and jumping.
  public static let wrongClocks: Profile = {
    var profile = Profile()
    profile.clockError = 8 * 60_000
    profile.clockJumps = 10
    return profile
  }()

  public static let line: Profile = {
    var profile = Profile()
    profile.topology = .line
    return profile
  }()
}

/// The profiles by the names that seeds and the command line use.
extension Profile {
  public static let named: [String: Profile] = [
    "ordinary": ordinary, "crashing": crashing, "partitioned": partitioned, "wrong-clocks": wrongClocks, "line": line,
  ]
}
