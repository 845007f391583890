import IssueReporting

/// The dependencies that are available to the current task.
///
/// Read them with ``Dependency``. Change them with ``prepareDependencies(_:)`` for the whole process or with
/// ``withDependencies(_:operation:)`` for the extent of an operation.
public struct DependencyValues: Sendable {
  @TaskLocal static var current = DependencyValues()
  /// Whether a closure that changes dependencies is running. Reading a default value there is no use of it.
  @TaskLocal package static var isChanging = false

  /// The values that were set for an operation, by key type.
  private var overrides: [ObjectIdentifier: any Sendable] = [:]
  /// Where values come from that nobody set.
  var defaults = DefaultValues.process
  /// Whether a change goes to ``defaults`` instead of `overrides`.
  var isPreparing = false

  public init() {}

  /// The value of a dependency.
  ///
  /// A setter in a `prepareDependencies` closure sets the value for the whole process. In a `withDependencies` closure it
  /// sets the value for the operation.
  public subscript<Key: TestDependencyKey>(key: Key.Type) -> Key.Value {
    get {
      if let value = stored(key) { return value }
      // `$0.date.now = …` reads the date that it is about to replace, and that is no use of it.
      return Self.$isChanging.withValue(Self.isChanging || isPreparing) { defaults.value(of: key, in: context) }
    }
    set {
      if isPreparing {
        defaults.prepare(key, newValue, in: context)
      } else {
        overrides[ObjectIdentifier(key)] = newValue
      }
    }
  }

  /// Returns the value that was set for an operation, or nil.
  func stored<Key: TestDependencyKey>(_ key: Key.Type) -> Key.Value? {
    overrides[ObjectIdentifier(key)] as? Key.Value
  }

  /// Returns these values, replaced by those of `others` that were set for an operation.
  func merging(_ others: DependencyValues) -> DependencyValues {
    if overrides.isEmpty && defaults === DefaultValues.process { return others }
    var merged = self
    merged.overrides.merge(others.overrides) { $1 }
    if others.defaults !== DefaultValues.process { merged.defaults = others.defaults }
    merged.isPreparing = others.isPreparing
    return merged
  }

  static func reportUnset(_ key: Any.Type, _ value: Any.Type, in context: DependencyContext) {
    guard !isChanging else { return }
    switch context {
    case .test:
      reportIssue(
        """
        The dependency "\(key)" of type "\(value)" has no test value, but a test uses it. Set it with \
        "withDependencies" or the ".dependency" trait, or give the key a "testValue".
        """)
    case .live, .preview:
      reportIssue(
        """
        The dependency "\(key)" of type "\(value)" has no live value. Set it with "prepareDependencies" when the program \
        starts, or conform the key to "DependencyKey".
        """)
    }
  }
}
