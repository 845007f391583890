/// What rows wait for, again and again: each report that is another than the one before. It ends with its task, or with an error of the
/// node.
///
/// ```swift
/// for try await report in node.assetUpdates() {
///   for asset in report.waiting { show(asset.column, asset.here, of: asset.size, asset.speed) }
/// }
/// ```
///
/// Nothing is asked of the node but when somebody waits for the next report.
public struct AssetUpdates: AsyncSequence, Sendable {
  public typealias Element = AssetsReport

  fileprivate let node: any NodeControl
  fileprivate let interval: Duration
  fileprivate let clock: any Clock<Duration>

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let updates: AssetUpdates
    private var last: AssetsReport?

    fileprivate init(_ updates: AssetUpdates) { self.updates = updates }

    public mutating func next() async throws -> AssetsReport? {
      while !Task.isCancelled {
        if last != nil { try await updates.clock.sleep(for: updates.interval) }
        let report = try await updates.node.assets()
        guard report != last else { continue }
        last = report
        return report
      }
      return nil
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension NodeControl {
  /// Of a node in this process, or of a daemon by `ControlClient`.
  ///
  /// - Parameter interval: Between two looks.
  public func assetUpdates(
    every interval: Duration = .seconds(1), clock: any Clock<Duration> = ContinuousClock()
  ) -> AssetUpdates {
    AssetUpdates(node: self, interval: interval, clock: clock)
  }
}
