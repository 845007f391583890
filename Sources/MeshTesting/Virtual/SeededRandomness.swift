import MeshCore
import Synchronization

/// Keys, serials and ephemeral secrets from a seed. A mutex protects the generator.
package final class SeededRandomness: Randomness {
  private let generator: Mutex<SplitMix64>

  package init(seed: UInt64, stream: UInt64 = 0) {
    generator = Mutex(SplitMix64(seed: seed, stream: stream))
  }

  package func bytes(_ count: Int) -> [UInt8] {
    generator.withLock { $0.bytes(count) }
  }
}
