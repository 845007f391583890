/// The result of a run.
package struct Outcome: Sendable {
  /// The broken rule and the values that broke it, or nil if all rules held.
  package let violation: String?
  /// BLAKE2b-128 over all lines of the trace, in hexadecimal. It is equal if and only if two runs were equal.
  package let digest: String
  package let counts: Counts
  /// The virtual time that the run took, in milliseconds.
  package let virtualTime: Int64

  package struct Counts: Sendable, Equatable {
    package var events = 0
    package var commits = 0
    package var messages = 0
    package var bytes = 0
    package var connections = 0
    package var changeSets = 0
    package var records = 0
    /// How often each fault occurred, by its key in a plan.
    package var faults: [String: Int] = [:]
    /// How often nodes refused messages of others, by the nodes' own texts.
    package var refusals: [String: Int] = [:]
    /// How often nodes took rare branches, by name. `Coverage.branches` lists all.
    package var branches: [String: Int] = [:]
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
