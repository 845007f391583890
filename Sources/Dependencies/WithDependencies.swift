import IssueReporting

/// Sets dependencies for the whole process.
///
/// Call it once, when the program starts. In a test, it sets them for that test.
///
/// ```swift
/// try prepareDependencies {
///   $0.defaultDatabase = try appDatabase()
/// }
/// ```
@discardableResult
public func prepareDependencies<R>(_ change: (inout DependencyValues) throws -> R) rethrows -> R {
  var values = DependencyValues.current
  values.isPreparing = true
  return try change(&values)
}

/// Runs an operation with changed dependencies.
///
/// ```swift
/// let model = withDependencies {
///   $0.date.now = Date(timeIntervalSince1970: 0)
/// } operation: {
///   RemindersModel()
/// }
/// ```
@discardableResult
public func withDependencies<R>(
  _ change: (inout DependencyValues) throws -> Void,
  operation: () throws -> R
) rethrows -> R {
  var values = DependencyValues.current
  try DependencyValues.$isChanging.withValue(true) { try change(&values) }
  return try DependencyValues.$current.withValue(values, operation: operation)
}

/// Runs an asynchronous operation with changed dependencies.
@discardableResult
public func withDependencies<R>(
  isolation: isolated (any Actor)? = #isolation,
  _ change: (inout DependencyValues) async throws -> Void,
  operation: () async throws -> R
) async rethrows -> R {
  var values = DependencyValues.current
  try await DependencyValues.$isChanging.withValue(true) { try await change(&values) }
  return try await DependencyValues.$current.withValue(values, operation: operation)
}

/// Runs an operation with the dependencies that an object was made with.
///
/// Make the objects that a model creates later in such an operation, so that what was set for the model reaches them.
///
/// ```swift
/// let detail = withDependencies(from: self) { DetailModel() }
/// ```
@discardableResult
public func withDependencies<Model: AnyObject, R>(from model: Model, operation: () throws -> R) rethrows -> R {
  try DependencyValues.$current.withValue(.ofModel(model), operation: operation)
}

/// Runs an operation with the dependencies that an object was made with, and with changes of them.
@discardableResult
public func withDependencies<Model: AnyObject, R>(
  from model: Model,
  _ change: (inout DependencyValues) throws -> Void,
  operation: () throws -> R
) rethrows -> R {
  try withDependencies(from: model) { try withDependencies(change, operation: operation) }
}

/// Runs an asynchronous operation with the dependencies that an object was made with.
@discardableResult
public func withDependencies<Model: AnyObject, R>(
  from model: Model,
  isolation: isolated (any Actor)? = #isolation,
  operation: () async throws -> R
) async rethrows -> R {
  try await DependencyValues.$current.withValue(.ofModel(model), operation: operation)
}

/// Runs an asynchronous operation with the dependencies that an object was made with, and with changes of them.
@discardableResult
public func withDependencies<Model: AnyObject, R>(
  from model: Model,
  isolation: isolated (any Actor)? = #isolation,
  _ change: (inout DependencyValues) async throws -> Void,
  operation: () async throws -> R
) async rethrows -> R {
  try await withDependencies(from: model) { try await withDependencies(change, operation: operation) }
}

extension DependencyValues {
  /// Returns the dependencies that a `@Dependency` property of an object keeps.
  fileprivate static func ofModel(_ model: AnyObject) -> DependencyValues {
    var mirror: Mirror? = Mirror(reflecting: model)
    while let layer = mirror {
      for child in layer.children {
        if let property = child.value as? any KeepsDependencies { return property.initial.merging(.current) }
      }
      mirror = layer.superclassMirror
    }
    reportIssue(
      """
      "withDependencies(from:)" found no "@Dependency" property in "\(type(of: model))", so it doesn't know what was set \
      for it. Declare one, even if the object doesn't use it.
      """)
    return current
  }
}

extension DependencyValues {
  /// Runs an operation whose defaults are made for it alone, after a change of its dependencies.
  package static func withFreshDefaults(
    _ change: @Sendable (inout DependencyValues) throws -> Void,
    operation: @Sendable () async throws -> Void
  ) async throws {
    var values = current
    if values.defaults === DefaultValues.process { values.defaults = DefaultValues() }
    // A value that the change makes, such as a database, reads the same fresh defaults.
    try $current.withValue(values) {
      try $isChanging.withValue(true) { try change(&values) }
    }
    try await $current.withValue(values, operation: operation)
  }
}
