import MeshCore

/// The keys of a zone's epochs.
struct ZoneKeys {
  private(set) var known: [EpochID: EpochKey] = [:]
  /// The epochs whose keys are missing here.
  private(set) var lacking: Set<EpochID> = []
  /// The epoch under which this device writes: the current epoch with the lowest id whose key is here.
  private(set) var writing: EpochID?
  /// Keys that are verified and not stored durably yet. Nothing is read or written with them.
  private(set) var arrived: [EpochID: EpochKey] = [:]
  /// The steady time since which no current epoch has its key here.
  private var missingSince: Int64?

  /// The epoch under which this device writes, and its key.
  var writingKey: (epoch: EpochID, key: EpochKey)? { writing.flatMap { epoch in known[epoch].map { (epoch, $0) } } }

  var count: Int { known.count + arrived.count }

  func has(_ epoch: EpochID) -> Bool { known[epoch] != nil || arrived[epoch] != nil }

  mutating func arrive(_ key: EpochKey, of epoch: EpochID) { arrived[epoch] = key }

  /// Returns the new epochs whose keys are missing here.
  ///
  /// - Parameter judged: The epochs that were judged since the last call, or all of the state.
  mutating func read(_ judged: [EpochID], of state: ZoneState) -> [EpochID] {
    if judged.count == state.epochs.count { (lacking, writing) = ([], nil) }
    let missing = judged.filter { known[$0] == nil }
    lacking.formUnion(missing)
    use(judged, of: state)
    return missing
  }

  mutating func add(_ new: [EpochID: EpochKey], of state: ZoneState) {
    known.merge(new) { old, _ in old }
    lacking.subtract(new.keys)
    use(new.keys, of: state)
  }

  /// Adds the keys that arrived, once they are stored durably.
  mutating func addArrived(of state: ZoneState) {
    let new = arrived
    arrived = [:]
    add(new, of: state)
  }

  private mutating func use(_ epochs: some Sequence<EpochID>, of state: ZoneState) {
    for epoch in epochs where known[epoch] != nil && state.currentEpochs.contains(epoch) {
      writing = min(writing ?? epoch, epoch)
    }
  }

  mutating func noteMinted() { missingSince = nil }

  /// Notes whether a key to write with is missing, and returns the milliseconds for which it has been.
  mutating func noteMissing(_ isMissing: Bool, now: Moment) -> Int64? {
    missingSince = isMissing ? missingSince ?? now.steady : nil
    return missingSince.map { now.steady - $0 }
  }
}
