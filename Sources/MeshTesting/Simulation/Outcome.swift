/// The result of a run.
public struct Outcome: Sendable {
  /// The broken rule and the values that broke it, or nil if all rules held.
  public let violation: String?
  /// BLAKE2b-128 over all lines of the trace, in hexadecimal. It is equal if and only if two runs were equal.
  public let digest: String
  public let counts: Counts
  /// The virtual time that the run took, in milliseconds.
  public let virtualTime: Int64

  public struct Counts: Sendable, Equatable {
    public var events = 0
    public var commits = 0
    public var messages = 0
    public var bytes = 0
    public var connections = 0
    public var changeSets = 0
    public var records = 0
    /// How often each fault occurred, by its key in a plan.
    public var faults: [String: Int] = [:]
    /// How often nodes refused messages of others, by the nodes' own texts.
    public var refusals: [String: Int] = [:]
    /// How often nodes took rare branches, by name. `Coverage.branches` lists all.
    public var branches: [String: Int] = [:]

    public var crashes: Int { ["nodes.kills", "nodes.powerCuts", "nodes.deaths"].reduce(0) { $0 + (faults[$1] ?? 0) } }
  }
}

extension Outcome.Counts {
  /// The lines for the end of a trace.
  var summary: [String] {
    func listed(_ counts: [String: Int]) -> String {
      counts.isEmpty
        ? "none" : counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
    return [
      "faults: \(listed(faults))", "refused: \(listed(refusals))", "branches: \(listed(branches))",
      "counts: \(commits) commits, \(changeSets) change sets, \(records) records, \(connections) connections, \(messages) messages",
    ]
  }
}
