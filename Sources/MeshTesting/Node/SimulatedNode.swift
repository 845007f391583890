import MeshCore
import MeshCrypto
import MeshReplication

/// One machine of the simulation: what survives its crashes, and the replica that does not.
final class SimulatedNode {
  let index: Int
  let clock: VirtualClock
  let vault = MemoryVault()
  let database: any SimulatedDatabase
  let device: DeviceID
  private let keys: DeviceKeys
  private let account: AccountState
  private let accountKey: AccountKey?
  private let cryptography: any Cryptography
  private let randomness: SeededRandomness

  /// Nil while it is down.
  private(set) var replica: Replica?
  private(set) var store: (any ReplicaStore)?
  /// Counts its starts.
  private(set) var life = 0
  var writer: AppWriter
  var ledger: Ledger
  var isWorkQueued = false
  /// It dies at its next input, after the replica has dealt with it and before anything is sent.
  var isDoomed = false
  /// As of the last look, to see that it never goes back.
  var merged = VersionVector()

  init(
    index: Int, clock: VirtualClock, account: TestAccount, known: AccountState, database: any SimulatedDatabase,
    cryptography: any Cryptography, randomness: SeededRandomness, writer: AppWriter
  ) throws {
    self.index = index
    self.clock = clock
    self.database = database
    self.account = known
    self.cryptography = cryptography
    self.randomness = randomness
    self.writer = writer
    keys = account.devices[index]
    device = try account.device(index)
    accountKey = index == 0 ? account.key : nil
    ledger = Ledger()
  }

  /// The key that its sessions prove.
  var sessionKey: [UInt8] { keys.sessionKey }

  func start() throws {
    let store = try database.open()
    var sign: (@Sendable ([UInt8]) -> [UInt8])?
    if let accountKey { sign = { accountKey.sign($0) } }
    self.store = store
    replica = try Replica(
      store: store, vault: vault, account: account, secrets: keys, accountSigner: sign, cryptography: cryptography,
      randomness: randomness)
    life += 1
    isWorkQueued = false
    isDoomed = false
  }

  func crash() throws {
    replica = nil
    store = nil
    vault.diesAtMark = false
    try database.crash()
  }

  /// Runs one transaction of the app and remembers what it changed.
  func write() throws -> (AppTransaction, isCommitted: Bool) {
    let transaction = writer.next()
    let before = try database.contents()
    if try store?.pendingCount() == 0 { ledger.flushed(before) }
    let isCommitted = try database.run(transaction)
    ledger.note(before: before, after: try database.contents())
    return (transaction, isCommitted)
  }
}
