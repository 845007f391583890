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
