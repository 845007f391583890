import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// The keys of a home that its database needs.
struct NodeKeys {
  let device: DeviceKeys
  let cryptography: Sodium

  init(_ home: Home) throws {
    cryptography = try Sodium()
    device = try Self.key(.deviceKey, home) { bytes throws(CryptoError) in try DeviceKeys(encoded: bytes) }
  }

  /// Returns the account's key if this home has one, whether or not it is the current one.
  static func signer(_ home: Home) throws -> AccountSigner? {
    guard try home.exists(.accountKey) else { return nil }
    let key = try Self.key(.accountKey, home) { bytes throws(CryptoError) in try AccountKey(encoded: bytes) }
    return AccountSigner(publicKey: key.publicKey) { key.sign($0) }
  }

  private static func key<Key>(
    _ file: HomeFile, _ home: Home, _ decode: ([UInt8]) throws(CryptoError) -> Key
  ) throws -> Key {
    let bytes = try home.read(file)
    do throws(CryptoError) {
      return try decode(bytes)
    } catch {
      throw HomeError(
        .damaged, "\(home.path(of: file)) is damaged (\(error.message)): restore it from a backup of the home.")
    }
  }
}

/// An open database: the file's lock, the store, and the replica that works on it.
struct OpenDatabase {
  let store: Store
  let replica: Replica
  private let lock: DatabaseLock
  /// The log that the home remembers.
  private var log: KnownLog?

  /// Opens the database.
  ///
  /// - Parameter isReplacement: True if the file replaced another one that was open. SQLite may have mixed the two, so
  ///   the whole file is read before it is trusted.
  /// - Parameter isAppOwned: True if an app embeds the node. The app has its own file open, and may have made it again, so
  ///   a file without anything of mesh is used.
  /// - Parameter lockPatience: The seconds that each step waits for another program's lock, or nil for the usual time.
  init(
    _ path: String, home: Home, keys: NodeKeys, account: AccountState,
    prepareConnection: (@Sendable (OpaquePointer) -> Void)?, isAppOwned: Bool, isReplacement: Bool = false,
    lockPatience: Double? = nil
  ) throws {
    let vault = HomeVault(home: home)
    let hasSigned = try vault.hasSigned()
    // A home gets the keys of its first zone once its database is open.
    let wasOpen = try hasSigned || !vault.zones().isEmpty
    if wasOpen, !isAppOwned { try Self.requireTables(path, home) }
    var lock = FileIdentity(at: path) == nil ? nil : try DatabaseLock(database: path, home: home)
    let store = try Self.store(path, home, keys.cryptography, lockPatience, prepareConnection)
    do {
      let taken = try lock ?? DatabaseLock(database: path, home: home)
      lock = taken
      self.lock = taken
      if isReplacement { try store.file.quickCheck() }
      let known = try store.control.accounts()
      guard known.isEmpty || known.contains(account.id) else {
        throw Refusal.foreignDatabase(path, of: known, home, account.id)
      }
      replica = try Replica(
        store: store, vault: vault, account: account, secrets: keys.device,
        accountSigner: try NodeKeys.signer(home), cryptography: keys.cryptography, randomness: keys.cryptography)
      try AccountKeyFile(home: home).settle(replica)
      if known.isEmpty, hasSigned { replica.noteOtherFile() }
      try AcceptedDatabase(home: home).settle(store)
      log = try RememberedLog(home: home).remember(store)
      self.store = store
    } catch {
      try? store.close()
      lock?.withdraw()
      guard case ReplicaError.foreignDatabase = error else { throw error }
      throw Refusal.foreignDatabase(path, of: [], home, account.id)
    }
  }

  /// Refuses a file that has nothing of mesh, unless a person has accepted it. This comes before anything is written to
  /// the file, which may be another program's.
  private static func requireTables(_ path: String, _ home: Home) throws {
    // Opening the store reports what else is wrong with the file.
    guard FileIdentity(at: path) != nil, let hasTables = try? Store.hasTables(path), !hasTables,
      try !AcceptedDatabase(home: home).isAccepted(path)
    else { return }
    throw Refusal(
      code: "database.other",
      message:
        "\(path) has nothing of mesh, although this node has used its database before: another file has taken its place, "
        + "or it is a copy from before mesh init. So nothing is synchronized. Put the right file there. If this is the right "
        + "file: mesh accept-file"
    )
  }

  /// Opens the store, without creating a file. A new database in place of a missing one would only hide that it is
  /// missing.
  private static func store(
    _ path: String, _ home: Home, _ cryptography: Sodium, _ lockPatience: Double?,
    _ prepareConnection: (@Sendable (OpaquePointer) -> Void)?
  ) throws -> Store {
    do {
      return try Store(
        path: path, create: false, cryptography: cryptography, lockPatience: lockPatience,
        staging: FileStaging(directory: home.path(of: .staging)), prepareConnection: prepareConnection)
    } catch let error as StoreError {
      guard error.code == .missing else { throw error }
      throw Refusal(
        code: "database.missing",
        message:
          "\(path), the database of this node (\(home.path(of: .configuration))), is not there, and only mesh init "
          + "makes one. Put it back, or a copy of it; or correct database in config.toml; or join again with a new home and an invite: "
          + "mesh init --home DIR --database PATH --adopt-schema --link -")
    }
  }

  /// Remembers the write-ahead log in the home after it has begun again.
  mutating func rememberLog(_ home: Home) throws {
    // This is asked at each tick, so an idle node neither reads the database nor writes to its home.
    if !KnownLog.isCurrent(log, at: store.place) { log = try RememberedLog(home: home).remember(store) }
  }

  func close() throws {
    defer { lock.release() }
    try store.close()
  }
}
