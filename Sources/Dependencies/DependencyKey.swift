/// A type that names a dependency and supplies its value in previews and tests.
///
/// Conform to this protocol in the module that declares an interface. Conform to ``DependencyKey`` in the module that
/// implements it.
public protocol TestDependencyKey<Value>: Sendable {
  associatedtype Value: Sendable = Self

  /// The value in a preview. Defaults to ``testValue``.
  static var previewValue: Value { get }

  /// The value in a test that doesn't set the dependency.
  static var testValue: Value { get }
}

/// A type that names a dependency and supplies its value in a running app.
///
/// ```swift
/// private enum GreetingKey: DependencyKey {
///   static let liveValue = "Hello"
/// }
///
/// extension DependencyValues {
///   var greeting: String {
///     get { self[GreetingKey.self] }
///     set { self[GreetingKey.self] = newValue }
///   }
/// }
/// ```
public protocol DependencyKey<Value>: TestDependencyKey {
  associatedtype Value = Self

  /// The value in a running app.
  static var liveValue: Value { get }
}

extension TestDependencyKey {
  public static var previewValue: Value { testValue }
}

extension DependencyKey {
  public static var previewValue: Value { liveValue }

  /// Reports an issue and returns ``TestDependencyKey/previewValue``, because a test shouldn't depend on a live value by
  /// accident.
  public static var testValue: Value {
    DependencyValues.reportUnset(Self.self, Value.self, in: .test)
    return previewValue
  }
}
