/// A property that keeps the dependencies of the operation that made it.
protocol KeepsDependencies {
  var initial: DependencyValues { get }
}

/// A property that reads a dependency.
///
/// ```swift
/// struct Clock {
///   @Dependency(\.date.now) var now
/// }
/// ```
///
/// An object keeps the dependencies of the operation that made it, so that they reach closures and tasks that outlive the
/// operation. Dependencies that are set where the property is read take precedence.
@propertyWrapper
public struct Dependency<Value>: Sendable, KeepsDependencies {
  private let read: @Sendable (DependencyValues) -> Value
  let initial = DependencyValues.current

  /// Reads the dependency at a key path.
  public init(_ keyPath: any KeyPath<DependencyValues, Value> & Sendable) {
    read = { $0[keyPath: keyPath] }
  }

  /// Reads the dependency of a key type.
  public init<Key: TestDependencyKey>(_ key: Key.Type) where Key.Value == Value {
    read = { $0[key] }
  }

  public var wrappedValue: Value {
    read(initial.merging(DependencyValues.current))
  }
}
