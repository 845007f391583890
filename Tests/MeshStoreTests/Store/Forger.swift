import MeshCore
import MeshCrypto

@testable import MeshStore

/// Signs change sets by hand: the next one of an author, with whatever is wrong with it.
struct Forger {
  let keys: DeviceKeys
  let author: Author
  let cryptography: Sodium
  /// The last one that was made.
  private(set) var last: ChangeSet?

  init(_ seed: UInt8) throws {
    try self.init(DeviceKeys(randomness: Seeded(seed: seed)), instance: InstanceID(UInt64(seed)))
  }

  init(_ keys: DeviceKeys, instance: InstanceID = InstanceID(1)) throws {
    self.keys = keys
    author = Author(device: DeviceID(keys.signingKey).unsafe, instance: instance)
    cryptography = try Sodium()
  }

  /// - Parameters:
  ///   - previous: Where it is not the last.
  ///   - context: What the author has merged meanwhile.
  ///   - altering: Makes of the body what is sent.
  mutating func make(
    _ content: ChangeSetBody.Content, time: HybridTime, previous: ChangeSetID? = nil,
    part: ChangeSetHeader.Part = .only,
    context: CausalContext = CausalContext(), altering: ([UInt8]) -> [UInt8] = { $0 }
  ) throws -> ChangeSet {
    let header = ChangeSetHeader(
      zone: Peer.zone, author: author, number: (last?.header.number ?? 0) + 1, previous: previous ?? last?.id,
      time: time,
      epoch: Peer.epoch, part: part)
    let body = altering(ChangeSetBody(context: context, content: content).encoded(author: author))
    let changeSet = try ChangeSet(header, body: body, key: Peer.key, secrets: keys, with: cryptography)
    last = changeSet
    return changeSet
  }

  /// The births of rows in `t`, with one value each.
  func births(_ keys: some Sequence<Int>, _ value: FieldValue, time: HybridTime) -> ChangeSetBody.Content {
    let rows = keys.map { key in
      RowChange(
        key: .integer(Int64(key)), generation: 1, isLife: true, stamp: Stamp(time: time, author: author),
        fields: [.init(column: 0, value: value)])
    }
    return .changes([TableChanges(table: "t", columns: ["v"], rows: rows)])
  }
}
