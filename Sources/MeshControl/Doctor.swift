/// Asks for a check of everything that can be wrong. `mesh doctor`.
public struct DoctorRequest: ControlRequest {
  public static let route = ControlRoute<DoctorReport>.get("/v1/doctor")

  /// Creates the request.
  public init() {}
}

/// Asks for the same checks, and has the node read the whole database file. `mesh doctor --deep`.
public struct DeepDoctorRequest: ControlRequest {
  public static let route = ControlRoute<DoctorReport>.get("/v1/doctor/deep")

  /// Creates the request.
  public init() {}

  /// An hour: the node reads the whole file.
  public var timeLimit: Duration { .longWork }
}

/// The result of a node's checks.
public struct DoctorReport: Codable, Hashable, Sendable {
  /// Whether every check is ok.
  public var healthy: Bool
  /// The findings about each part of the node, in a fixed order. If the node can't use its database, there are only those
  /// that need no database.
  public var checks: [HealthCheck]

  package init(checks: [HealthCheck]) {
    healthy = checks.allSatisfy { $0.state == .ok }
    self.checks = checks
  }
}

/// One check of a node.
public struct HealthCheck: Codable, Hashable, Sendable {
  /// The result of a check.
  public enum State: String, Codable, Sendable {
    /// Everything is as it should be.
    case ok
    /// Nothing is lost and the node works, but you should have a look.
    case warning
    /// Something doesn't work, or will soon not.
    case alarm
  }

  /// A stable name for programs: `write-ahead-log`, `disk`, `held`. Several checks may have the same name.
  public var name: String
  /// Whether the part is in order.
  public var state: State
  /// The finding.
  public var what: String
  /// The way out. It is nil if there is nothing to do.
  @OrNull public var wayOut: String?
  /// The numbers behind `what`, by name.
  public var figures: [String: Int]

  package init(_ name: String, _ state: State, _ what: String, wayOut: String? = nil, figures: [String: Int] = [:]) {
    (self.name, self.state, self.what, self.wayOut, self.figures) = (name, state, what, wayOut, figures)
  }
}
