/// The error that the simulator itself can't continue, because its machine lacks something.
public struct SimulationError: Error, CustomStringConvertible, Sendable {
  public let description: String

  public init(_ description: String) { self.description = description }
}
