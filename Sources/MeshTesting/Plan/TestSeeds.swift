import Foundation

/// The seeds of tests that try random histories, and the variants of tests that try all there are. `tools/test --fast` tries
/// some of them.
package enum TestSeeds {
  /// Whether only what fits in a few minutes is tested.
  package static let isFast = ProcessInfo.processInfo.environment["MESH_TEST_FAST"] != nil

  /// Returns the seeds from 1 to `last`, or the first quarter of them.
  package static func through<Seed: FixedWidthInteger>(_ last: Seed) -> ClosedRange<Seed> {
    1...(isFast ? max(1, last / 4) : last)
  }

  /// The distance between the variants that are tried.
  package static let step = isFast ? 7 : 1

  /// Returns all variants, or every seventh of them.
  package static func some<Variant>(of variants: [Variant]) -> [Variant] {
    stride(from: 0, to: variants.count, by: step).map { variants[$0] }
  }

  /// Returns all variants, or every seventh of every seventh, for tests in which each of them takes long.
  package static func few<Variant>(of variants: [Variant]) -> [Variant] { some(of: some(of: variants)) }
}
