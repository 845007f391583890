/// What a run came to.
public struct Outcome: Sendable {
  /// The rule that was broken, with what broke it; nil where all held.
  public let violation: String?
  /// BLAKE2b-128 over every line of the trace, in hexadecimal: equal exactly where two runs were.
  public let digest: String
  public let counts: Counts
  /// How long the run took in its own time, in milliseconds.
  public let virtualTime: Int64

  public struct Counts: Sendable, Equatable {
    public var events = 0
    public var commits = 0
    public var messages = 0
    public var bytes = 0
    public var connections = 0
    public var crashes = 0
    public var partitions = 0
    public var changeSets = 0
    public var records = 0
  }
}
