import Foundation

/// The seeds of tests that try random histories. `tools/test --fast` tries a quarter of them.
public enum TestSeeds {
  /// Whether only what fits in a few minutes is tested.
  public static let isFast = ProcessInfo.processInfo.environment["MESH_TEST_FAST"] != nil

  /// Returns the seeds from 1 to `last`, or the first quarter of them.
  public static func through<Seed: FixedWidthInteger>(_ last: Seed) -> ClosedRange<Seed> {
    1...(isFast ? max(1, last / 4) : last)
  }
}
