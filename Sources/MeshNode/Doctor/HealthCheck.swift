/// One thing that `mesh doctor` looked at.
public struct HealthCheck: Codable, Hashable, Sendable {
  public enum State: String, Codable, Sendable {
    /// As it should be.
    case ok
    /// Nothing is lost and the node works, but somebody should look.
    case warning
    /// Something does not work, or will soon not.
    case alarm
  }

  /// Stable, for programs: `write-ahead-log`, `disk`, `held`.
  public var name: String
  public var state: State
  /// What was found.
  public var what: String
  /// What to do about it; null where nothing is to be done.
  @OrNull public var wayOut: String?
  /// Numbers behind `what`, by name.
  public var figures: [String: Int]

  public init(_ name: String, _ state: State, _ what: String, wayOut: String? = nil, figures: [String: Int] = [:]) {
    self.name = name
    self.state = state
    self.what = what
    self.wayOut = wayOut
    self.figures = figures
  }
}

extension Int {
  /// `1 row is`, `2 rows are`.
  package func counted(_ one: String, _ many: String) -> String { "\(self) \(self == 1 ? one : many)" }
}

/// `mesh doctor`.
public struct DoctorReport: Codable, Hashable, Sendable {
  /// Every check is ok.
  public var healthy: Bool
  public var checks: [HealthCheck]

  public init(checks: [HealthCheck]) {
    healthy = checks.allSatisfy { $0.state == .ok }
    self.checks = checks
  }

  /// Of a node that does not open, or does not answer: the reason is the only thing to be known, and it has its way out.
  public init(unopened refusal: Refusal) {
    let name = refusal.code.split(separator: ".").first.map(String.init) ?? "node"
    self.init(checks: [.library, HealthCheck(name, .alarm, refusal.message, wayOut: "Do what the message says.")])
  }
}
