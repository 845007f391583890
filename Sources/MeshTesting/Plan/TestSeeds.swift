import Foundation

/// The seeds of tests that try random histories, and the variants of tests that try all there are. `tools/test --fast` tries
/// some of them.
public enum TestSeeds {
  /// Whether only what fits in a few minutes is tested.
  public static let isFast = ProcessInfo.processInfo.environment["MESH_TEST_FAST"] != nil

  /// Returns the seeds from 1 to `last`, or the first quarter of them.
  public static func through<Seed: FixedWidthInteger>(_ last: Seed) -> ClosedRange<Seed> {
    1...(isFast ? max(1, last / 4) : last)
  }

  /// The distance between the variants that are tried.
  public static let step = isFast ? 7 : 1

  /// Returns all variants, or every seventh of them.
  public static func some<Variant>(of variants: [Variant]) -> [Variant] {
    stride(from: 0, to: variants.count, by: step).map { variants[$0] }
  }
}
