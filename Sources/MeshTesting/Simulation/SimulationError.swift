/// The simulator itself can't go on: its machine lacks something.
public struct SimulationError: Error, CustomStringConvertible, Sendable {
  public let description: String

  public init(_ description: String) { self.description = description }
}
