import Logging
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore

/// The database of a node and the objects that work on it. It is opened at the start, and again whenever the file was
/// restored or replaced.
struct NodeDatabase {
  private(set) var store: Store
  private(set) var replica: Replica
  /// The reason that the file can't be used now, with the remedy, or nil while it can.
  private(set) var suspension: Refusal?
  /// False once the store is closed and no other could be opened. Then the store must not be used.
  private var isOpen = true
  private var lock: DatabaseLock
  private let path: String
  private let home: Home
  private let keys: Keys
  private let prepareConnection: (@Sendable (OpaquePointer) -> Void)?
  /// The time before which a file that could not be opened isn't tried again.
  private var nextAttempt = ContinuousClock.now

  struct Keys {
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

  /// Opens the database.
  ///
  /// - Parameter isReplacement: True if the file replaced another one that was open. SQLite may have mixed the two, so
  ///   the whole file is read before it is trusted.
  init(
    _ path: String, home: Home, keys: Keys, account: AccountState,
    prepareConnection: (@Sendable (OpaquePointer) -> Void)?, isReplacement: Bool = false
  ) throws {
    (self.path, self.home, self.keys, self.prepareConnection) = (path, home, keys, prepareConnection)
    let lock = FileIdentity(at: path) == nil ? nil : try DatabaseLock(database: path, home: home)
    let store = try Self.store(path, home, keys.cryptography, prepareConnection)
    do {
      self.lock = try lock ?? DatabaseLock(database: path, home: home)
      if isReplacement { try store.quickCheck() }
      let known = try store.accounts()
      guard known.isEmpty || known.contains(account.id) else { throw ReplicaError.foreignDatabase }
      replica = try Replica(
        store: store, vault: HomeVault(home: home), account: account, secrets: keys.device,
        accountSigner: try Keys.signer(home), cryptography: keys.cryptography, randomness: keys.cryptography)
      try AccountKeyFile(home: home).settle(replica)
      self.store = store
    } catch {
      try? store.close()
      lock?.release()
      throw error
    }
  }

  /// Opens the store, without creating a file. A new database in place of a missing one would only hide that it is
  /// missing.
  private static func store(
    _ path: String, _ home: Home, _ cryptography: Sodium, _ prepareConnection: (@Sendable (OpaquePointer) -> Void)?
  ) throws -> Store {
    do {
      return try Store(
        path: path, create: false, cryptography: cryptography,
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

  func close() throws {
    defer { lock.release() }
    try store.close()
  }

  /// Copies the open file, for a file that no path leads to any more.
  func backUp(to target: String) throws -> Int64 {
    guard !isOpen else { return try store.backUp(to: target) }
    throw suspension ?? Refusal(code: "database.replaced", message: "\(path) is not open")
  }

  // MARK: The file at the path

  enum Change {
    /// Another store and another replica are in use now. The knowledge of the former ones is invalid.
    case reopened(String)
    /// The database must not be used. `suspension` has the reason.
    case suspended
  }

  /// Checks whether the open file is the one at the path, and opens the one at the path if it isn't.
  ///
  /// - Parameter error: The store's error if the open file has another history than the store knows.
  /// - Returns: The change since the last call, or nil if there is none.
  mutating func follow(because error: StoreError? = nil) -> Change? {
    switch store.whereabouts {
    case .here where suspension == nil && error == nil: return nil
    case _ where ContinuousClock.now < nextAttempt: return nil
    case .here:
      return reopen(isReplacement: suspension != nil, error?.message ?? "\(path) is there again")
    case .gone:
      // The log is emptied, so that it does no harm to the file that follows.
      if suspension == nil { _ = try? store.abandon() }
      return suspend(
        "database.gone",
        "\(path) was deleted or moved away while the node had it open, so nothing is synchronized. Put the file there again, or "
          + "a copy of it: the node opens it by itself. What the node had open can be saved before: mesh backup FILE")
    case .replaced:
      do {
        let others = isOpen ? try store.abandon() : []
        guard others.isEmpty else { return suspend(because: others) }
      } catch {
        return suspend(
          "database.replaced",
          "another file was moved to \(path), and the log of the one before can't be emptied, so nothing is synchronized: "
            + "\(Node.text(error)) The node tries again by itself.")
      }
      return reopen(
        isReplacement: true, "another file was moved to \(path) while the node had it open; the node opens it")
    }
  }

  private mutating func reopen(isReplacement: Bool, _ what: String) -> Change? {
    let account = replica.account
    if isOpen { try? close() }
    isOpen = false
    do {
      self = try NodeDatabase(
        path, home: home, keys: keys, account: account, prepareConnection: prepareConnection,
        isReplacement: isReplacement)
      return .reopened(what)
    } catch {
      return suspend(
        "database.replaced",
        "\(what), and the node can't open what is there now, so nothing is synchronized: \(Node.text(error)) "
          + "Put the right file there: the node opens it by itself.")
    }
  }

  private mutating func suspend(because others: [LockHolder]) -> Change? {
    let names = others.map { "process \($0.pid) (\(printable($0.program)))" }.joined(separator: ", ")
    return suspend(
      "database.replaced",
      "another file was moved to \(path), and \(names) still has the one before open, so nothing is synchronized. What is "
        + "written there goes to the replaced file and is lost. End that program, or have it open the database again: the "
        + "node opens the new file by itself then.")
  }

  private mutating func suspend(_ code: String, _ message: String) -> Change? {
    nextAttempt = .now + Self.pause
    let refusal = Refusal(code: code, message: message)
    guard refusal != suspension else { return nil }
    suspension = refusal
    return .suspended
  }

  /// The time between two attempts to open the file at the path.
  private static let pause = Duration.milliseconds(300)
}
