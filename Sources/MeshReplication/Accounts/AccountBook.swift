import MeshCore

/// The states of this account and of the accounts that a zone here names. They only grow.
final class AccountBook {
  private let store: any ControlStore
  private let cryptography: any Cryptography
  private let secrets: any DeviceSecrets
  private let device: DeviceID

  private(set) var account: AccountState { didSet { accounts.set(account) } }
  /// The states of this account and of all accounts that a zone here lists.
  private(set) var accounts: Accounts {
    didSet {
      store.setAccounts(accounts, device: device)
      changes += 1
    }
  }
  /// The encoded form of each state that was needed since it changed. A state may have hundreds of statements, and each
  /// session asks for it.
  private var encodings: [AccountID: Encoding] = [:]
  /// The number of changes to those states since the start.
  private(set) var changes = 0
  /// The account's key, on a machine that holds one.
  private var signer: AccountSigner?

  /// A state in the form in which peers and the database get it.
  struct Encoding {
    let bytes: [UInt8]
    /// The hash of the bytes.
    let head: [UInt8]
  }

  init(
    _ account: AccountState, signer: AccountSigner?, device: DeviceID, store: any ControlStore,
    secrets: any DeviceSecrets, cryptography: any Cryptography
  ) {
    (self.account, self.signer, self.device) = (account, signer, device)
    (self.store, self.secrets, self.cryptography) = (store, secrets, cryptography)
    accounts = Accounts([account])
  }

  /// Reads the stored states, and stores this account's.
  func load() throws {
    for id in try store.accounts() {
      guard let bytes = try store.accountState(id) else { continue }
      var reader = ByteReader(bytes)
      let known = try? AccountState(from: &reader, cryptography)
      if id == account.id {
        guard let known, account.merge(known, cryptography) else { throw ReplicaError.foreignDatabase }
      } else if let known, known.id == id {
        accounts.set(known)
      }
    }
    encodings = [:]
    try store.saveAccountStates([account.id: own.bytes])
    store.setAccounts(accounts, device: device)
  }

  /// Replaces the stored state of this or another account.
  func replace(_ state: AccountState) throws {
    let bytes = state.encoded
    try store.saveAccountStates([state.id: bytes])
    if state.id == account.id { account = state } else { accounts.set(state) }
    encodings[state.id] = Encoding(bytes: bytes, head: cryptography.hash(bytes))
  }

  /// Merges a state into the stored one. Returns true if the stored state grew.
  @discardableResult
  func adopt(_ state: AccountState) throws -> Bool {
    guard var known = accounts[state.id] else {
      try replace(state)
      return true
    }
    known.merge(state, cryptography)
    guard known != accounts[state.id] else { return false }
    try replace(known)
    return true
  }

  /// Adds states of other accounts that are stored already.
  func know(_ states: some Collection<AccountState>) {
    guard !states.isEmpty else { return }
    var grown = accounts
    for state in states {
      grown.set(state)
      encodings[state.id] = nil
    }
    accounts = grown
  }

  /// This account's state in encoded form.
  var own: Encoding { encoding(account) }

  /// Returns an account's state in encoded form.
  func encoding(of id: AccountID) -> Encoding? { accounts[id].map(encoding) }

  private func encoding(_ state: AccountState) -> Encoding {
    if let known = encodings[state.id] { return known }
    let bytes = state.encoded
    let encoding = Encoding(bytes: bytes, head: cryptography.hash(bytes))
    encodings[state.id] = encoding
    return encoding
  }

  // MARK: The account's key

  /// This device's power to sign for its account, or nil if it may sign nothing.
  var power: AccountPower? { AccountPower(account, device, signer: signer, secrets: secrets) }

  /// Whether this machine holds the key that currently signs for the account.
  var holdsAccountKey: Bool { signer?.publicKey == account.signingKey }

  /// Sets the account's key. It is used if it is the account's current key.
  func sign(with signer: AccountSigner) { self.signer = signer }
}
