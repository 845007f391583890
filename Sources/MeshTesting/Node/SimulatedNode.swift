import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// One machine of the simulation: the parts that survive its crashes, and the replica, which doesn't.
final class SimulatedNode {
  let index: Int
  /// The index of its account, and its place among that account's devices. The first device holds the account's key.
  let home: (account: Int, place: Int)
  let clock: VirtualClock
  let vault = MemoryVault()
  let database: any SimulatedDatabase
  /// Its device. It is another machine's device if this machine runs a copy of that machine's home.
  private(set) var device: DeviceID
  /// The device that it is named after.
  let firstDevice: DeviceID
  private(set) var keys: DeviceKeys
  /// The account state in its home, which has its device's certificate.
  private var account: AccountState
  private let accountKey: AccountKey?
  private let cryptography: any Cryptography
  private let randomness: SeededRandomness
  private let probe: BranchProbe
  /// The values that the apps of all nodes wrote.
  private let written: WrittenValues

  /// The replica, or nil while the node is down.
  private(set) var replica: Replica?
  private(set) var store: (any ReplicaStore)?
  /// The number of its starts.
  private(set) var life = 0
  var writer: AppWriter
  var ledger = Ledger()
  /// The writes of its app to rows of `AppSchema.tally`.
  private(set) var tallies: [RecordName: TalliedWrites] = [:]
  var liar: Liar?
  var isRevoked = false
  /// True if it is stopped permanently.
  var isStopped = false
  var isWorkQueued = false
  /// True if it dies at its next input, after the replica has handled it and before anything is sent.
  var isDoomed = false
  /// The time until which the process does nothing.
  var pausedUntil: Int64 = 0
  /// The number of disk failures at the last success. An error after more failures may be the disk's fault.
  var failuresSeen = 0
  /// The tips by zone at the last look, to check that they never go back.
  var heads: [ZoneID: [Author: ChangeSetTip]] = [:]
  func merged(_ zone: ZoneID) -> VersionVector { VersionVector((heads[zone] ?? [:]).mapValues(\.number)) }
  /// The members of shares, as they were known before the last input, with the heads of the logs that say so.
  private var members: [ZoneID: (heads: [ControlID], accounts: Set<AccountID>)] = [:]

  func knewAsMember(_ account: AccountID, of zone: ZoneID) -> Bool {
    members[zone]?.accounts.contains(account) ?? false
  }

  /// Remembers the members of shares until the next input was handled.
  func noteMembers() {
    for zone in replica?.zoneIDs ?? [] {
      guard let state = replica?.shareState(zone), state.heads != members[zone]?.heads else { continue }
      members[zone] = (state.heads, state.accounts.filter { state.permission($0) != nil })
    }
  }

  /// True if its users want to keep copies of shares that end for them.
  var keepsCopies = false
  /// True if its database was replaced by another one.
  private(set) var hasOtherHistory = false
  /// True if its file was restored since it was opened. Its store then refuses everything.
  private(set) var isHistoryLost = false
  /// The tables that its app recreated, and that the node may not have looked at since. It notices deletes in between
  /// only if most rows are there.
  private var madeAnew: Set<String> = []
  /// The long BLOBs in rows and columns that its app has discarded, and those that these were waiting for.
  private(set) var discarded: (shown: Set<Value>, awaited: Set<AssetID>) = ([], [])
  /// The long BLOBs that its app has written or tried to write.
  private(set) var longBLOBs: Set<Value> = []
  /// The BLOBs of merged cells of which it doesn't have the bytes in its rows.
  private var awaited: [Ledger.CellName: AssetID] = [:]
  private var absent: Set<Ledger.CellName> { Set(awaited.keys) }
  /// The columns that its app has dropped since the node last looked, by table.
  private var droppedColumns: [String: Set<String>] = [:]
  /// The columns of its tables when the node last looked.
  private var seenColumns: [String: Set<String>] = [:]
  /// The copies of the machine's state that were made.
  var copies: [Copy] = []
  /// Its own file, while another account's has the place of it.
  var setAside: Copy?

  struct Copy {
    let device: DeviceID
    let files: [String: [UInt8]]
    let home: MemoryVault.Contents
    let ledger: Ledger
  }

  init(
    index: Int, home: (account: Int, place: Int), clock: VirtualClock, account: TestAccount, known: AccountState,
    database: any SimulatedDatabase,
    cryptography: any Cryptography, randomness: SeededRandomness, probe: @escaping BranchProbe,
    written: WrittenValues, writer: AppWriter
  ) throws {
    self.index = index
    self.home = home
    self.clock = clock
    self.database = database
    self.account = known
    self.cryptography = cryptography
    self.randomness = randomness
    self.probe = probe
    self.written = written
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
    replica.probe = probe
    self.store = store
    self.replica = replica
    life += 1
    isHistoryLost = false
    isWorkQueued = false
    isDoomed = false
  }

  /// Ends the process. The app may continue.
  func end() throws {
    drop()
    try database.closeStore()
  }

  /// Ends all programs, and loses unsynced writes if the power is cut.
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

  /// Runs one transaction of the app and remembers its changes.
  func write(_ transaction: AppTransaction) throws -> Bool {
    let tables = transaction.tables
    longBLOBs.formUnion(transaction.statements.flatMap(\.values).filter(\.isLongBLOB))
    var before: Contents = [:]
    do {
      before = try database.contents(tables)
      let isInStep = try database.isInStep()
      let tallied = try written(transaction)
      let store = isHistoryLost ? nil : store
      // For a node that is down, the value from its last run is used.
      if let store { awaited = try Self.awaited(store) }
      // A node that is down has flushed nothing since. Only its store could tell whether rows are pending.
      let isFlushed = try store?.localWrites.pendingCount() == 0
      // No rows of a table are sent while it is not synchronized.
      let untracked = database.untracked
      if isFlushed {
        ledger.flushed(
          before.filter { !untracked.contains($0.key.table) }, tables: tables.filter { !untracked.contains($0) })
      }
      if isInStep { (madeAnew, droppedColumns, seenColumns) = ([], [:], database.columns) }
      noteKeys(transaction, before)
      let isCommitted = try database.run(transaction)
      if transaction.losses.isEmpty {
        let (columns, after) = (database.columns, try database.contents(tables))
        written.note(before, after)
        ledger.note(
          before: before, after: after, absent: absent,
          madeAnew: madeAnew.union(columns.keys.filter { seenColumns[$0] == nil }),
          newColumns: columns.reduce(into: [:]) { $0[$1.key] = $1.value.subtracting(seenColumns[$1.key] ?? []) })
      } else if isCommitted, !(isFlushed && isInStep) {
        ledger.lose(transaction.losses)
      }
      madeAnew.formUnion(transaction.dropped)
      for case (let table, .column(let column)) in transaction.losses where isCommitted {
        droppedColumns[table, default: []].insert(column)
      }
      // An app drops a table's update triggers together with a column. Without them, a default in a row may also be what
      // another column shows that was dropped and added again.
      let columns = database.columns
      ledger.forgetDefaults(of: Set(droppedColumns.filter { columns[$0]?.isDisjoint(with: $1) == false }.keys))
      if isCommitted { noteDiscarded(transaction.losses, before) }
      for tally in isCommitted ? tallied : [] {
        tallies[tally.record, default: TalliedWrites()].add(tally, isBeforeStart: life == 0)
      }
      return isCommitted
    } catch {
      for case .tally(let tally) in transaction.statements {
        tallies[tally.record, default: TalliedWrites()].doubt(tally)
      }
      ledger.doubt(tables)
      written.doubt(transaction, before)
      throw error
    }
  }

  /// Notes which rows may get another key.
  private func noteKeys(_ transaction: AppTransaction, _ before: Contents) {
    for case .rename(let name, let key, let to) in transaction.statements {
      guard let table = AppSchema.table(name) else { continue }
      let former = RecordName(table: name, key: table.canonical(key))
      let seen = before[former]?.keys.map { $0 } ?? []
      written.noteKey(RecordName(table: name, key: table.canonical(to)), from: former, seen: seen)
    }
  }

  private static func awaited(_ store: any ReplicaStore) throws -> [Ledger.CellName: AssetID] {
    let places = try (store as? Store)?.assets.awaited(limit: .max) ?? []
    return Dictionary(places.map { ($0.cell, $0.asset.id) }, uniquingKeysWith: { first, _ in first })
  }

  private func noteDiscarded(_ losses: [String: AppTransaction.Loss], _ before: Contents) {
    func isDiscarded(_ record: RecordName, _ column: String) -> Bool {
      switch losses[record.table] {
      case .rows: true
      case .column(let dropped): dropped == column
      case .nothing, .renamed, nil: false
      }
    }
    for (name, row) in before {
      discarded.shown.formUnion(row.filter { $0.value.isLongBLOB && isDiscarded(name, $0.key) }.values)
    }
    discarded.awaited.formUnion(awaited.filter { isDiscarded($0.key.record, $0.key.column) }.values)
  }

  /// Returns the writes to rows that are here, or that it creates.
  private func written(_ transaction: AppTransaction) throws -> [Tally] {
    let tallies = transaction.statements.compactMap { if case .tally(let tally) = $0 { tally } else { nil } }
    if tallies.isEmpty { return [] }
    let rows = try database.contents([AppSchema.tally.name])
    return tallies.filter { $0.creates || rows[$0.record] != nil }
  }

  /// Gives this machine another machine's keys, with the certificate that belongs to them.
  func become(_ other: SimulatedNode) {
    keys = other.keys
    account = other.account
    device = other.device
  }

  /// Replaces the database. Nothing may have it open.
  func take(_ copy: Copy) {
    hasOtherHistory = true
    database.disk?.files = copy.files
    ledger = copy.ledger
    heads = [:]
  }

  /// Overwrites the database while programs have it open.
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

extension [SimulatedNode] {
  /// The nodes that follow the rules and still belong to the account.
  var honest: [SimulatedNode] { filter { !$0.isLiar && !$0.isRevoked && !$0.isStopped } }
}
