public import Dependencies
public import Testing

/// A trait that sets dependencies for a test. On a suite, it sets them for each of the suite's tests.
public struct DependenciesTrait: TestTrait, SuiteTrait, TestScoping {
  let change: @Sendable (inout DependencyValues) throws -> Void

  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await DependencyValues.withFreshDefaults(change, operation: function)
  }
}

extension Trait where Self == DependenciesTrait {
  /// Gives a test defaults of its own, shared with no other test.
  public static var dependencies: Self {
    Self { _ in }
  }

  /// Sets one dependency.
  ///
  /// ```swift
  /// @Test(.dependency(\.defaultDatabase, try appDatabase()))
  /// func feature() { … }
  /// ```
  public static func dependency<Value: Sendable>(
    _ keyPath: any WritableKeyPath<DependencyValues, Value> & Sendable,
    _ value: @autoclosure @escaping @Sendable () throws -> Value
  ) -> Self {
    Self { $0[keyPath: keyPath] = try value() }
  }

  /// Sets the dependency of a type that is its own key.
  public static func dependency<Value: TestDependencyKey>(
    _ value: @autoclosure @escaping @Sendable () throws -> Value
  ) -> Self where Value == Value.Value {
    Self { $0[Value.self] = try value() }
  }

  /// Sets several dependencies.
  ///
  /// ```swift
  /// @Suite(.dependencies {
  ///   $0.date.now = Date(timeIntervalSince1970: 0)
  ///   $0.uuid = .incrementing
  /// })
  /// struct FeatureTests { … }
  /// ```
  public static func dependencies(
    _ change: @escaping @Sendable (inout DependencyValues) throws -> Void
  ) -> Self {
    Self(change: change)
  }
}
