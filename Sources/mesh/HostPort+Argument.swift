public import ArgumentParser
public import MeshNode

extension HostPort: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}
