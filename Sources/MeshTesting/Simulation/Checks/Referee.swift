import MeshCore
import MeshStore

/// Replays a log into a store of the other kind: into the model for the real store, and into the real store for the
/// model. Both saw the same history, so both have the same digest.
enum Referee {
  static func digest(
    of log: [[UInt8]], zone: ZoneID, by storage: Simulation.Storage, _ reader: ChangeSetReader
  ) throws -> ZoneDigest {
    switch storage {
    case .model: return try digest(of: log, zone, ModelStore(reader.cryptography), reader)
    case .sqlite:
      let clock = VirtualClock(VirtualTime(), ahead: 0)
      let disk = try VirtualDisk(clock: clock, randomness: SeededRandomness(seed: 1), seed: 1)
      let database = SQLiteDatabase(
        disk: disk, clock: clock, cryptography: reader.cryptography, foreignKeys: true, hasBadTrigger: false)
      defer { try? database.close() }
      return try digest(of: log, zone, database.open(), reader)
    }
  }

  /// A time later than any change set. If a change set had to wait for its time, it is in the log because that time
  /// came.
  private static let late: Int64 = 1 << 46

  private static func digest(
    of log: [[UInt8]], _ zone: ZoneID, _ store: any ReplicaStore, _ reader: ChangeSetReader
  ) throws -> ZoneDigest {
    guard let id = ControlID([UInt8](repeating: 1, count: 32)) else { throw SimulationError("an id has 32 bytes") }
    try store.control.insertControlRecord([], id: id, zone: zone)
    try store.merges.revert(reader.cuts, zone: zone, reader, now: late)
    let changeSets = try log.map { try ChangeSet($0, with: reader.cryptography) }
    for start in stride(from: 0, to: changeSets.count, by: 64) {
      let slice = Array(changeSets[start..<min(start + 64, changeSets.count)])
      for (changeSet, outcome) in zip(slice, try store.log.store(slice, zone: zone, now: late)) where outcome != .stored
      {
        throw SimulationError("number \(changeSet.header.number) of \(changeSet.header.author) is refused: \(outcome)")
      }
    }
    while true {
      switch try store.merges.apply(zone, reader, now: late) {
      case .merged: continue
      case .flushFirst: throw SimulationError("a store that nobody writes to has pending rows")
      case .idle(let waiting):
        if waiting.isEmpty { return try store.zones.digest(zone) }
        throw SimulationError("a whole log waits: \(waiting)")
      }
    }
  }
}
