/// The error that the simulator itself can't continue, because its machine lacks something.
package struct SimulationError: Error, CustomStringConvertible, Sendable {
  package let description: String

  package init(_ description: String) { self.description = description }
}
