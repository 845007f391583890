public import GRDB

/// Delivers the first value immediately, and the others where they were fetched.
@usableFromInline
struct ImmediateScheduler: ValueObservationScheduler, Hashable {
  @usableFromInline
  init() {}

  @usableFromInline
  func immediateInitialValue() -> Bool { true }
  @usableFromInline
  func schedule(_ action: @escaping @Sendable () -> Void) { action() }
}

/// Delivers like another scheduler, but fetches the first value without blocking the caller.
struct WithoutImmediateValue: ValueObservationScheduler {
  private let base: any ValueObservationScheduler

  init(_ base: any ValueObservationScheduler) { self.base = base }

  func immediateInitialValue() -> Bool { false }
  func schedule(_ action: @escaping @Sendable () -> Void) { base.schedule(action) }
}
