import IssueReporting
import Synchronization

/// The values of dependencies that no operation has set. Each is made once and kept, for each test separately.
package final class DefaultValues: Sendable {
  package static let process = DefaultValues()

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let context: DependencyContext
    let test: TestContext.Testing.Test.ID?

    init(_ type: Any.Type, _ context: DependencyContext) {
      self.type = ObjectIdentifier(type)
      self.context = context
      if context == .test, case .swiftTesting(let testing)? = TestContext.current {
        test = testing?.test.id
      } else {
        test = nil
      }
    }
  }

  private let values = Mutex<[Key: any Sendable]>([:])

  package init() {}

  func value<K: TestDependencyKey>(of type: K.Type, in context: DependencyContext) -> K.Value {
    let key = Key(type, context)
    if let value = values.withLock({ $0[key] }) as? K.Value { return value }
    // Outside of the lock: a value may depend on others.
    let value =
      switch context {
      case .live: Self.live(type)
      case .preview: K.previewValue
      case .test: K.testValue
      }
    // A default that is read while others are set may be replaced right after. It isn't kept, so that it can be.
    if DependencyValues.isChanging { return value }
    return values.withLock { values in
      if let earlier = values[key] as? K.Value { return earlier }
      values[key] = value
      return value
    }
  }

  func prepare<K: TestDependencyKey>(_ type: K.Type, _ value: K.Value, in context: DependencyContext) {
    let key = Key(type, context)
    let isFirst = values.withLock { values in
      guard values[key] == nil else { return false }
      values[key] = value
      return true
    }
    guard !isFirst else { return }
    reportIssue(
      """
      "prepareDependencies" can't set "\(type)", because that dependency was already used or prepared. Prepare it once, \
      as the first thing that the program does.
      """)
  }

  private static func live<K: TestDependencyKey>(_ type: K.Type) -> K.Value {
    func open(_ type: any DependencyKey.Type) -> any Sendable { type.liveValue }
    if let type = type as? any DependencyKey.Type, let value = open(type) as? K.Value { return value }
    DependencyValues.reportUnset(type, K.Value.self, in: .live)
    return K.testValue
  }
}
