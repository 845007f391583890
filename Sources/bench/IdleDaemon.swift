import Foundation

/// Measures an idle daemon that is connected to another one, both with the given number of rows.
struct IdleDaemon {
  let workshop: Workshop
  let rows: Int
  private static let seconds = 20.0
  /// The pause in microseconds for the effects of earlier work, such as acknowledgements and a checkpoint.
  private static let rest: UInt32 = 3_000_000

  func measure() throws -> [Figure] {
    let pair = try workshop.pair()
    defer { pair.stop() }
    try Items.insert(rows, try pair.a.open())
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
        unit: "MiB", aim: .value(48)),
      Figure(
        what: "idle daemon with \(rows) rows, share of a core over \(Int(Self.seconds)) s, the larger of two",
        ours: shares.max() ?? .nan, unit: "%", aim: .value(0.05)),
    ]
  }
}
