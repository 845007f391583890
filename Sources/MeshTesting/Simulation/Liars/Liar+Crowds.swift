import MeshCore
import MeshCrypto
import MeshReplication

extension SimulatedNode {
  /// All devices in whose name it writes.
  var devices: [DeviceID] { [device] + (liar?.crowd ?? []).compactMap { DeviceID($0.signingKey) } }
}

extension Liar {
  private static let crowdSize = 40
  /// The number of instances that a device may have, and some more.
  private static let instances: UInt64 = 20

  /// Lets several devices write as several instances each, in one session. The liar's own device does the same if other
  /// nodes share its account.
  mutating func crowd(
    _ occasion: Occasion, _ account: TestAccount?, _ known: AccountState?, _ heads: [ControlID]
  ) throws -> [[UInt8]] {
    var messages: [[UInt8]] = []
    if let account, var state = known {
      for _ in 0..<3 where crowd.count < Self.crowdSize {
        crowd.append(DeviceKeys(randomness: SeededRandomness(seed: generator.next())))
      }
      for (index, keys) in crowd.enumerated() {
        guard let request = CertificateRequest(name: "crowd \(index)", for: state.id, secrets: keys) else { continue }
        let certificate = Certificate(
          account: state.id, request: request, serial: [UInt8](repeating: UInt8(index), count: 16),
          issued: VirtualClock.epoch, sign: account.key.sign)
        state.insert(certificate, occasion.cryptography)
      }
      messages.append(Message.account(state.encoded).encoded)
    }
    for _ in 0..<6 {
      let keys = account == nil ? occasion.keys : crowd.randomElement(using: &generator) ?? occasion.keys
      guard let device = DeviceID(keys.signingKey) else { continue }
      let one = occasion.of(keys, device, citation: occasion.citation)
      let lie = try changeSet(
        .crowd, one, key: .text("list\(Int.random(in: 0..<4, using: &generator))a"), title: "one of many",
        instance: UInt64.random(in: 0..<Self.instances, using: &generator))
      messages.append(Message.changeSets(occasion.zone, [lie.bytes]).encoded)
      guard account != nil, !heads.isEmpty else { continue }
      let record = try ControlRecord(
        zone: occasion.zone, parents: heads, number: 1, previous: nil, act: .epoch(commitment: generator.bytes(32)),
        secrets: keys, occasion.cryptography)
      messages.append(Message.controlRecords(occasion.zone, [record.encoded]).encoded)
    }
    return messages
  }

  /// The devices for which an account has certificates beyond the bound.
  private static let beyond = 20

  /// Returns a state of its account with as many certificates as it can have, and with some revocations. Another call
  /// leaves out other certificates. Together they are more than any node keeps.
  mutating func certificates(_ account: TestAccount, _ known: AccountState, _ cryptography: any Cryptography) throws
    -> AccountState
  {
    if reserve.isEmpty {
      reserve = (0..<Limits.devicesEver + Self.beyond).compactMap { index in
        let keys = DeviceKeys(randomness: SeededRandomness(seed: generator.next()))
        guard let request = CertificateRequest(name: "reserve \(index)", for: known.id, secrets: keys) else {
          return nil
        }
        return Certificate(
          account: known.id, request: request, serial: generator.bytes(16), issued: VirtualClock.epoch,
          sign: account.key.sign)
      }
    }
    var state = known
    for certificate in reserve.shuffled(using: &generator).dropLast(Self.beyond) {
      state.insert(certificate, cryptography)
    }
    for certificate in reserve.shuffled(using: &generator).prefix(3) {
      state.insert(
        Revocation(certificate, authority: Authority(), issued: VirtualClock.epoch, sign: account.key.sign),
        cryptography)
    }
    return state
  }

  /// Returns signed messages of others, for any connected peer.
  mutating func relay(_ zones: [ZoneID]) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    for bytes in received.shuffled(using: &generator) where messages.count < 5 {
      let other = generator.once(in: 4) ? zones.randomElement(using: &generator) : nil
      switch try? Message.decode(bytes) {
      case .changeSets(let zone, let changeSets):
        messages.append(Message.changeSets(other ?? zone, mixed(changeSets)).encoded)
      case .controlRecords(let zone, let records):
        messages.append(Message.controlRecords(other ?? zone, mixed(records)).encoded)
      case .account: messages.append(bytes)
      default: continue
      }
    }
    return messages
  }

  /// Returns as many as a message may have, in any order, with one of them repeated.
  private mutating func mixed(_ signed: [[UInt8]]) -> [[UInt8]] {
    let mixed = signed.shuffled(using: &generator)
    return mixed.count < Limits.controlBatch ? mixed + mixed.prefix(1) : mixed
  }

  mutating func schemas(mayBePrivate: Bool, _ tables: [AppSchema.Table]) -> [[UInt8]] {
    guard let table = tables.randomElement(using: &generator) else { return [] }
    let key = SchemaDescription.Column(name: table.key, declaredType: "INTEGER", notNull: true, collation: .nocase)
    let wide = (0..<500).map { SchemaDescription.Column(name: "wide\($0)", declaredType: "BLOB", notNull: true) }
    let own = table.columns.map { SchemaDescription.Column(name: $0.name, declaredType: "REAL", notNull: true) }
    let names = [table.name, table.name.uppercased(), "mesh_zone", "sqlite_schema", "made_up"]
    let described = SchemaDescription(
      name: names.randomElement(using: &generator) ?? table.name,
      columns: [key] + (generator.once(in: 2) ? own : wide), key: 0,
      foreignKeys: [.init(column: 1, parent: "made_up", onDelete: .cascade, onUpdate: .cascade)],
      isPrivate: mayBePrivate)
    return [Message.schema([described]).encoded]
  }
}
