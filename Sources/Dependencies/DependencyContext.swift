import Foundation
import IssueReporting

/// The circumstances in which code runs. They decide which value a ``DependencyKey`` supplies.
public enum DependencyContext: Hashable, Sendable {
  /// A running app.
  case live
  /// A preview of a user interface.
  case preview
  /// A test.
  case test
}

extension DependencyContext {
  /// The context of this process: the environment variable `SWIFT_DEPENDENCIES_CONTEXT` (`live`, `preview` or `test`) if
  /// it is set, otherwise what the process was started for.
  static let ofProcess: DependencyContext = {
    let environment = ProcessInfo.processInfo.environment
    switch environment["SWIFT_DEPENDENCIES_CONTEXT"] {
    case "live": return .live
    case "preview": return .preview
    case "test": return .test
    default: break
    }
    if environment["XCODE_RUNNING_FOR_PREVIEWS"] == "1" { return .preview }
    return isTesting ? .test : .live
  }()
}

private enum DependencyContextKey: DependencyKey {
  static var liveValue: DependencyContext { .ofProcess }
  static var previewValue: DependencyContext { .ofProcess }
  static var testValue: DependencyContext { .ofProcess }
}

extension DependencyValues {
  /// The context in which the current code runs.
  ///
  /// ```swift
  /// @Dependency(\.context) var context
  /// ```
  public var context: DependencyContext {
    get { stored(DependencyContextKey.self) ?? .ofProcess }
    set { self[DependencyContextKey.self] = newValue }
  }
}
