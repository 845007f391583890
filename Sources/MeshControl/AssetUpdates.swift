/// The BLOBs that rows wait for, as a sequence of reports: each one that differs from the one before.
///
/// ```swift
/// for try await report in node.assetUpdates() {
///   for asset in report.waiting { show(asset.column, asset.here, of: asset.size, asset.speed) }
/// }
/// ```
///
/// The sequence asks the node only while somebody waits for the next report. It ends with its task, or with an error.
public struct AssetUpdates: AsyncSequence, Sendable {
  /// A report that differs from the one before.
  public typealias Element = AssetsReport

  fileprivate let node: any NodeControl
  fileprivate let interval: Duration
  fileprivate let clock: any Clock<Duration>

  /// Asks the node for one report after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let updates: AssetUpdates
    private var last: AssetsReport?

    fileprivate init(_ updates: AssetUpdates) { self.updates = updates }

    /// Returns the next report that differs from the last one, or nil if the task is cancelled.
    public mutating func next() async throws -> AssetsReport? {
      while !Task.isCancelled {
        if last != nil { try await updates.clock.sleep(for: updates.interval) }
        let report = try await updates.node.perform(AssetsRequest())
        guard report != last else { continue }
        last = report
        return report
      }
      return nil
    }
  }

  /// Returns an iterator that begins with a report of now.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension NodeControl {
  /// Returns the BLOBs that rows wait for, as a sequence of reports.
  ///
  /// - Parameters:
  ///   - interval: The time between two requests.
  ///   - clock: The clock that measures it.
  public func assetUpdates(
    every interval: Duration = .seconds(1), clock: any Clock<Duration> = ContinuousClock()
  ) -> AssetUpdates {
    AssetUpdates(node: self, interval: interval, clock: clock)
  }
}
