public import MeshCore
import Synchronization

/// Keys, serials and ephemeral secrets from a seed. A mutex protects the generator.
public final class SeededRandomness: Randomness {
  private let generator: Mutex<SplitMix64>

  public init(seed: UInt64, stream: UInt64 = 0) {
    generator = Mutex(SplitMix64(seed: seed, stream: stream))
  }

  public func bytes(_ count: Int) -> [UInt8] {
    generator.withLock { $0.bytes(count) }
  }
}
