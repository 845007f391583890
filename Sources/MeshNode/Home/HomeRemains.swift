import FoundationEssentials
import Glibc

/// What a directory held before a home was made there, to be put back where making it fails.
public struct HomeRemains: Sendable {
  private let path: String
  /// Files and directories below it; nil where it was not there.
  private let names: Set<String>?

  public init(at path: String) {
    self.path = path
    names = Self.names(below: path)
  }

  /// Removes what was made since; what cannot be removed stays.
  public func restore() {
    let new = (Self.names(below: path) ?? []).subtracting(names ?? [])
    // What a directory holds before the directory, which goes only if it is empty.
    for name in new.sorted(by: >) { _ = remove("\(path)/\(name)") }
    if names == nil { _ = remove(path) }
  }

  private static func names(below path: String) -> Set<String>? {
    (try? FileManager.default.subpathsOfDirectory(atPath: path)).map { Set($0) }
  }
}
