/// Sebastiano Vigna's SplitMix64. It has one word of state, so the seed alone reproduces a run.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  /// Creates an independent stream of the same seed. Draws from one stream don't affect another.
  package init(seed: UInt64, stream: UInt64) {
    var mixer = SplitMix64(seed: seed ^ 0x6d65_7368)
    let first = mixer.next()
    mixer = SplitMix64(seed: first &+ stream &* 0x9e37_79b9_7f4a_7c15)
    state = mixer.next()
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }

  /// Returns true once in `count` draws on average, and never if `count` is zero.
  mutating func once(in count: Int) -> Bool {
    count > 0 && Int.random(in: 0..<count, using: &self) == 0
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
