public import ArgumentParser
public import MeshCore

extension Permission: ExpressibleByArgument {
  public init?(argument: String) { self.init(name: argument) }

  public static var allValueStrings: [String] { allCases.map(\.name) }
}
