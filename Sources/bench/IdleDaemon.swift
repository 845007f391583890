import Foundation

/// What a daemon takes that has nothing to do, connected to another, both with so many rows.
struct IdleDaemon {
  let workshop: Workshop
  let rows: Int
  private static let seconds = 20.0
  /// For what the work before leaves: acknowledgements, a checkpoint.
  private static let rest: UInt32 = 3_000_000
  /// Rows of one transaction, so that the setting up is not one huge unit.
  private static let batch = 100_000

  func measure() throws -> [Figure] {
    let pair = try workshop.pair()
    defer { pair.stop() }
    let database = try pair.a.open()
    for start in stride(from: 0, to: rows, by: Self.batch) {
      try Items(min(Self.batch, rows - start)).insertAll(database)
    }
    try pair.a.wait()
    usleep(Self.rest)
    let daemons = [pair.a, pair.b].compactMap(\.daemon?.id)
    let before = try daemons.map(Machine.processorTime)
    usleep(UInt32(Self.seconds * 1e6))
    let after = try daemons.map(Machine.processorTime)
    let memory = try daemons.map(Machine.residentMemory)
    let shares = zip(before, after).map { ($1 - $0) / Self.seconds * 100 }
    return [
      Figure(
        what: "idle daemon with \(rows) rows, resident memory, the larger of two", ours: memory.max() ?? .nan,
        unit: "MiB", aim: .value(64)),
      Figure(
        what: "idle daemon with \(rows) rows, share of a core over \(Int(Self.seconds)) s, the larger of two",
        ours: shares.max() ?? .nan, unit: "%", aim: .value(0.5)),
    ]
  }
}
