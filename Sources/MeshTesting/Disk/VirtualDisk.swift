import CSQLite
import CSQLiteTesting
import Synchronization

/// One machine's disk in memory, as a SQLite VFS with the node's virtual clock and seeded randomness. A trigger's
/// `julianday('now')` is the node's time, whichever connection runs it. The disk knows which writes were not synced. A
/// power cut keeps them, loses them, or tears them by sectors.
///
/// SQLite seeds its own generator (`random()`, names of temporary files, salts of the WAL) once per process and from
/// the default VFS. So a simulated app must not use `random()`.
final class VirtualDisk {
  /// The VFS's name. It is unique in the process, because several simulations may run at once.
  let name: String
  private let source: Source
  private let disk: UnsafeMutablePointer<mesh_disk>

  /// The data that the callbacks read, from any thread.
  private final class Source: Sendable {
    let clock: VirtualClock
    let randomness: SeededRandomness

    init(_ clock: VirtualClock, _ randomness: SeededRandomness) {
      self.clock = clock
      self.randomness = randomness
    }
  }

  private static let registrations = Atomic<Int>(0)

  init(clock: VirtualClock, randomness: SeededRandomness, seed: UInt64) throws(SimulationError) {
    name = "mesh-disk-\(Self.registrations.add(1, ordering: .relaxed).newValue)"
    source = Source(clock, randomness)
    let context = Unmanaged.passUnretained(source).toOpaque()
    let disk = mesh_disk_register(
      name, seed, context, { VirtualDisk.source($0)?.clock.milliseconds() ?? 0 },
      { context, count, bytes in
        guard let bytes else { return }
        for (index, byte) in (VirtualDisk.source(context)?.randomness.bytes(Int(count)) ?? []).enumerated() {
          bytes[index] = CChar(bitPattern: byte)
        }
      })
    guard let disk else { throw SimulationError("SQLite's default VFS is not as expected: a disk cannot be made") }
    self.disk = disk
  }

  private static func source(_ context: UnsafeMutableRawPointer?) -> Source? {
    context.map { Unmanaged<Source>.fromOpaque($0).takeUnretainedValue() }
  }

  deinit { mesh_disk_unregister(disk) }

  // MARK: Death

  /// Whether the machine is dead. Nothing works until it starts again.
  var isDead: Bool { disk.pointee.dead != 0 }

  /// Makes the machine die in the `operations`th write, sync or step from now on. With 0, it never dies.
  func die(within operations: Int) { disk.pointee.countdown = Int64(operations) }

  /// Runs `body` on a machine that doesn't die meanwhile.
  func sparing<Result>(_ body: () throws -> Result) rethrows -> Result {
    let countdown = disk.pointee.countdown
    disk.pointee.countdown = 0
    defer { disk.pointee.countdown = countdown }
    return try body()
  }

  /// Counts a step of a program on this machine, outside of SQLite.
  func step() throws {
    guard mesh_disk_step(disk) != 0 else { throw SimulatedDeath() }
  }

  /// Ends all programs. Their open files are of no use any more.
  func crash(losesUnsynced: Bool) { mesh_disk_crash(disk, losesUnsynced ? 1 : 0) }

  // MARK: Faults

  /// Makes one operation in `rate` fail, at most `times` times if that is given. With 0, no operation fails.
  func fail(rate: Int, times: Int? = nil) {
    disk.pointee.error_in = Int32(rate)
    disk.pointee.error_left = Int32(times ?? -1)
  }

  /// Makes one write in `rate` fail because the disk is full. With 0, none does.
  func fill(rate: Int) { disk.pointee.full_in = Int32(rate) }

  /// Makes all operations succeed again.
  func mend() {
    fail(rate: 0)
    fill(rate: 0)
  }

  /// The number of operations that have failed so far, and of writes that found the disk full.
  var failures: (errors: Int, full: Int) { (Int(disk.pointee.error_count), Int(disk.pointee.full_count)) }

  // MARK: Files

  /// Every file by its name, as programs see it now.
  var files: [String: [UInt8]] {
    get {
      var files: [String: [UInt8]] = [:]
      var next = mesh_disk_next(disk, nil)
      while let file = next {
        if let name = file.pointee.name {
          files[String(cString: name)] = Array(
            UnsafeRawBufferPointer(start: file.pointee.seen.bytes, count: Int(file.pointee.seen.size)))
        }
        next = mesh_disk_next(disk, file)
      }
      return files
    }
    set {
      for name in files.keys where newValue[name] == nil { remove(name) }
      for (name, bytes) in newValue { put(bytes, name) }
    }
  }

  /// Creates a file durably.
  func put(_ bytes: [UInt8], _ name: String) {
    bytes.withUnsafeBytes { _ = mesh_disk_restore(disk, name, $0.baseAddress, Int64($0.count)) }
  }

  func remove(_ name: String) { mesh_disk_remove(disk, name) }

  /// Returns the size of a file in bytes, or 0 if there is none.
  func size(of name: String) -> Int {
    mesh_disk_find(disk, name).map { Int($0.pointee.seen.size) } ?? 0
  }
}
