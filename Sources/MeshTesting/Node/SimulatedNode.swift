import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// One machine of the simulation: what survives its crashes, and the replica that does not.
final class SimulatedNode {
  let index: Int
  /// Which of the simulation's accounts it is a device of, and which of that one's devices: the first holds the account's key.
  let home: (account: Int, place: Int)
  let clock: VirtualClock
  let vault = MemoryVault()
  let database: any SimulatedDatabase
  /// Another machine's, once this one runs a copy of its home.
  private(set) var device: DeviceID
  /// The one that it is named after.
  let firstDevice: DeviceID
  private(set) var keys: DeviceKeys
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
  var ledger = Ledger()
  var liar: Liar?
  var isRevoked = false
  /// For good.
  var isStopped = false
  var isWorkQueued = false
  /// It dies at its next input, after the replica has dealt with it and before anything is sent.
  var isDoomed = false
  /// The process does nothing until then.
  var pausedUntil: Int64 = 0
  /// Failures of the disk at the last success: what fails with more may be the disk's fault.
  var failuresSeen = 0
  /// By zone, as of the last look, to see that it never goes back.
  var heads: [ZoneID: [Author: ChangeSetHead]] = [:]
  func merged(_ zone: ZoneID) -> VersionVector { VersionVector((heads[zone] ?? [:]).mapValues(\.number)) }
  /// Its people want to keep copies of shares that end for them.
  var keepsCopies = false
  /// Its database was replaced by another one.
  private(set) var hasOtherHistory = false
  /// Its file was restored since it opened it: its store refuses everything.
  private(set) var isHistoryLost = false
  /// Tables that its app made anew, and that the node may not have looked at since: it finds out what was deleted in between
  /// only where most rows are there.
  private var madeAnew: Set<String> = []
  /// Long BLOBs that its app has written, or tried to.
  private(set) var longBLOBs: Set<Value> = []
  /// Cells of whose merged BLOBs it had not the bytes.
  private var absent: Set<Ledger.Cell> = []
  /// What its tables had when the node last looked.
  private var seenColumns: [String: Set<String>] = [:]
  /// Copies of the machine's state that somebody made.
  var copies: [Copy] = []

  struct Copy {
    let device: DeviceID
    let files: [String: [UInt8]]
    let home: MemoryVault.Contents
    let ledger: Ledger
  }

  init(
    index: Int, home: (account: Int, place: Int), clock: VirtualClock, account: TestAccount, known: AccountState,
    database: any SimulatedDatabase,
    cryptography: any Cryptography, randomness: SeededRandomness, writer: AppWriter
  ) throws {
    self.index = index
    self.home = home
    self.clock = clock
    self.database = database
    self.account = known
    self.cryptography = cryptography
    self.randomness = randomness
    self.writer = writer
    keys = account.devices[home.place]
    firstDevice = try account.device(home.place)
    device = firstDevice
    accountKey = home.place == 0 ? account.key : nil
    if let disk = database.disk { vault.step = { try disk.step() } }
  }

  /// The key that its sessions prove.
  var sessionKey: [UInt8] { keys.sessionKey }
  var isLiar: Bool { liar != nil }

  func start() throws {
    let store = try database.open()
    let signer = accountKey.map { key in AccountSigner(publicKey: key.publicKey) { key.sign($0) } }
    let replica = try Replica(
      store: store, vault: vault, account: account, secrets: keys, accountSigner: signer, cryptography: cryptography,
      randomness: randomness)
    replica.keepsCopies = keepsCopies
    self.store = store
    self.replica = replica
    life += 1
    isHistoryLost = false
    isWorkQueued = false
    isDoomed = false
  }

  /// The process is gone; the app may go on.
  func end() throws {
    drop()
    try database.closeStore()
  }

  /// All programs are gone, and with the power what was not synced.
  func crash(losesUnsynced: Bool) throws {
    drop()
    try database.crash(losesUnsynced: losesUnsynced)
  }

  private func drop() {
    replica = nil
    store = nil
    vault.diesAtMark = false
    pausedUntil = 0
  }

  /// Runs one transaction of the app and remembers what it changed.
  func write(_ transaction: AppTransaction) throws -> Bool {
    let tables = transaction.tables
    longBLOBs.formUnion(transaction.statements.flatMap(\.values).filter(\.isLongBLOB))
    do {
      let before = try database.contents(tables)
      let isInStep = try database.isInStep()
      let store = isHistoryLost ? nil : store
      // Of a node that is down as it was when it last ran.
      if let store { absent = try Self.absent(store) }
      // A node that is down has flushed nothing since; whether something is pending only its store could say.
      let isFlushed = try store?.pendingCount() == 0
      // Of a table that is not synchronized no row was sent.
      let untracked = database.untracked
      if isFlushed {
        ledger.flushed(
          before.filter { !untracked.contains($0.key.table) }, tables: tables.filter { !untracked.contains($0) })
      }
      if isInStep { (madeAnew, seenColumns) = ([], database.columns) }
      let isCommitted = try database.run(transaction)
      if transaction.losses.isEmpty {
        let columns = database.columns
        ledger.note(
          before: before, after: try database.contents(tables), absent: absent,
          madeAnew: madeAnew.union(columns.keys.filter { seenColumns[$0] == nil }),
          newColumns: columns.reduce(into: [:]) { $0[$1.key] = $1.value.subtracting(seenColumns[$1.key] ?? []) })
      } else if isCommitted, !(isFlushed && isInStep) {
        ledger.lose(transaction.losses)
      }
      madeAnew.formUnion(transaction.dropped)
      return isCommitted
    } catch {
      ledger.doubt(tables)
      throw error
    }
  }

  private static func absent(_ store: any ReplicaStore) throws -> Set<Ledger.Cell> {
    Set(
      try (store as? Store)?.awaitedAssets(limit: .max).map {
        Ledger.Cell(record: RecordName(table: $0.table, key: $0.key), column: $0.column)
      } ?? [])
  }

  /// From now on this machine has another one's keys.
  func become(_ other: SimulatedNode) {
    keys = other.keys
    device = other.device
  }

  /// The database is replaced. Not while anything has it open.
  func take(_ copy: Copy) {
    hasOtherHistory = true
    database.disk?.files = copy.files
    ledger = copy.ledger
    heads = [:]
  }

  /// The database is written over, while everything has it open.
  func restoreLive(_ copy: Copy) throws {
    try database.restoreLive(from: copy.files)
    (hasOtherHistory, isHistoryLost) = (true, true)
    ledger = copy.ledger
    heads = [:]
  }

  var copy: Copy? {
    database.disk.map { Copy(device: device, files: $0.files, home: vault.contents, ledger: ledger) }
  }
}
