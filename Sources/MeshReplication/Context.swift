import MeshCore

/// The values that all parts of a replica share: the interfaces to the machine, and the owners of the state that
/// several parts read.
struct Context {
  let store: any ReplicaStore
  let vault: any Vault
  let cryptography: any Cryptography
  let randomness: any Randomness
  let secrets: any DeviceSecrets
  let device: DeviceID
  let outbox: Outbox
  let book: AccountBook
  let sessions: Sessions
  let zones: Zones
  let due: WorkQueue
  let incidents: Incidents
}

/// A part of a replica: a class that owns its state, or a value without any.
///
/// It calls only the parts that it was created with, so the parts own each other without a cycle. One call goes the
/// other way: when a session ends, `Sessions` tells the downloads, through the closure `whenEnded`.
protocol Part {
  var context: Context { get }
}

extension Part {
  var store: any ReplicaStore { context.store }
  var vault: any Vault { context.vault }
  var cryptography: any Cryptography { context.cryptography }
  var randomness: any Randomness { context.randomness }
  var secrets: any DeviceSecrets { context.secrets }
  var device: DeviceID { context.device }
  var outbox: Outbox { context.outbox }
  var book: AccountBook { context.book }
  var sessions: Sessions { context.sessions }
  var zones: Zones { context.zones }
  var due: WorkQueue { context.due }
  var incidents: Incidents { context.incidents }

  var probe: BranchProbe? { incidents.probe }

  var account: AccountState { book.account }
  var accounts: Accounts { book.accounts }
  /// This device's certificate, or nil if the account doesn't count it among its devices.
  var certificate: Certificate? { account.certificate(device) }
}

extension Part {
  /// Notes rows that the store itself has to flush: copies that are kept, and records that follow their parents to
  /// another zone.
  func noticePending() throws {
    if !due.contains(.flush), try store.localWrites.pendingCount() > 0 { due.note(.flush) }
  }

  /// Returns whether this device may create epochs and write, according to the log.
  func mayWrite(_ zone: Zone) -> Bool {
    certificate != nil && zone.state.cuts[device] == nil && zone.state.permission(account.id) == .readWrite
  }
}

extension Part {
  func changeSetReader(_ id: ZoneID) -> ChangeSetReader {
    let state = zones[id]?.state
    return ChangeSetReader(
      keys: zones[id]?.keys.known ?? [:], cuts: zones[id]?.limits.current ?? [:],
      unknown: { state?.limit(ofUnknown: $0) }, cryptography: cryptography)
  }
}
