import CSQLite
import Synchronization

/// A SQLite VFS of one node: the operating system's files, the node's virtual clock, seeded randomness. `julianday('now')` in
/// a trigger is the node's time, whichever connection runs it.
///
/// SQLite seeds its own generator (`random()`, names of temporary files, salts of the WAL) once per process and from the
/// default VFS, so a simulated app must not use `random()`.
final class VirtualFileSystem {
  /// Unique in the process: several simulations may run at once.
  let name: String
  private let source: Source
  private let registered: UnsafeMutableRawPointer

  /// What the callbacks read, from any thread.
  private final class Source: Sendable {
    let clock: VirtualClock
    let randomness: SeededRandomness

    init(_ clock: VirtualClock, _ randomness: SeededRandomness) {
      self.clock = clock
      self.randomness = randomness
    }
  }

  private static let registrations = Atomic<Int>(0)

  init(clock: VirtualClock, randomness: SeededRandomness) throws(SimulationError) {
    name = "mesh-virtual-\(Self.registrations.add(1, ordering: .relaxed).newValue)"
    source = Source(clock, randomness)
    let context = Unmanaged.passUnretained(source).toOpaque()
    let registered = mesh_vfs_register(
      name, context, { VirtualFileSystem.source($0)?.clock.milliseconds() ?? 0 },
      { context, count, bytes in
        guard let bytes else { return }
        for (index, byte) in (VirtualFileSystem.source(context)?.randomness.bytes(Int(count)) ?? []).enumerated() {
          bytes[index] = CChar(bitPattern: byte)
        }
      })
    guard let registered else { throw SimulationError("SQLite's default VFS cannot be wrapped") }
    self.registered = registered
  }

  private static func source(_ context: UnsafeMutableRawPointer?) -> Source? {
    context.map { Unmanaged<Source>.fromOpaque($0).takeUnretainedValue() }
  }

  deinit { mesh_vfs_unregister(registered) }
}
