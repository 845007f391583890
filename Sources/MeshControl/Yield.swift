/// Asks the process that runs the node to leave the node to another one. `mesh serve` sends it to an app.
///
/// An app that agrees closes its node, and uses the node of the other process as soon as that one answers. Rows that are
/// written meanwhile are captured in the file. A daemon refuses, and so does an app whose schema calls functions that
/// only the app has.
public struct YieldRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<YieldReport>.post("/v1/yield")

  /// The id of the process that runs the node from then on. The app waits for it as long as that process exists, and
  /// runs the node itself afterwards.
  public var process: Int

  /// Creates the request.
  public init(process: Int) { self.process = process }
}

/// The answer of an app that leaves its node to another process. The home's lock is free a moment later.
public struct YieldReport: Codable, Hashable, Sendable {
  /// The id of the process that ran the node until now.
  public var process: Int

  package init(process: Int) { self.process = process }
}
