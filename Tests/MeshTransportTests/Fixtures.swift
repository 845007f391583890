import MeshCore
import MeshCrypto
import MeshTransport
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Randomness in which every byte is one value.
struct FixedRandomness: Randomness {
  let value: UInt8
  func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }
}

/// A clock that stands still until it is moved.
final class ManualClock: TimeSource {
  private let now = NIOLockedValueBox<Int64>(1_000_000)
  func milliseconds() -> Int64 { now.withLockedValue { $0 } }
  func advance(by milliseconds: Int64) { now.withLockedValue { $0 += milliseconds } }
}

/// Returns device keys whose seeds are 32 times `value`.
func keys(_ value: UInt8) -> DeviceKeys { DeviceKeys(randomness: FixedRandomness(value: value)) }

func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

func transport(
  _ key: UInt8, limits: TransportLimits = TransportLimits(), clock: any TimeSource = ManualClock(),
  group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
) -> Transport {
  Transport(keys: keys(key), randomness: SystemRandomness(), clock: clock, limits: limits, group: group)
}

/// Returns the two sides of a session without a socket: the dialler with key 1, and the listener with key 2.
func sessions() throws -> (dialler: NoiseSession, listener: NoiseSession) {
  var dialler = NoiseHandshake(role: .dialler, keys: keys(1), randomness: SystemRandomness())
  var listener = NoiseHandshake(role: .listener, keys: keys(2), randomness: SystemRandomness())
  try listener.readMessage(try dialler.writeMessage())
  try dialler.readMessage(try listener.writeMessage())
  try listener.readMessage(try dialler.writeMessage())
  return (try dialler.split(), try listener.split())
}

/// Returns a length and a Noise message, with any contents.
func frame(_ message: [UInt8]) -> [UInt8] { [UInt8(message.count >> 8), UInt8(message.count & 0xff)] + message }

/// Returns the code of the error that `body` throws, or nil if it succeeds.
func code(of body: () async throws -> Void) async -> TransportError.Code? {
  do {
    try await body()
    return nil
  } catch {
    return (error as? TransportError)?.code
  }
}

/// Returns when the condition holds. The time limit of the suite is the deadline.
func wait(until condition: () async throws -> Bool) async throws {
  while try await !condition() {
    try Task.checkCancellation()
    await Task.yield()
  }
}
