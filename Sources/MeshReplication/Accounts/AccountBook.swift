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
      heads = [:]
      changes += 1
    }
  }
  /// The hashes of those states, computed on demand, because even a short message asks for all.
  private var heads: [AccountID: [UInt8]] = [:]
  /// The number of changes to those states since the start.
  private(set) var changes = 0
  /// The account's key, on a machine that holds one.
  private var signer: AccountSigner?

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
    try store.saveAccountStates([account.id: account.encoded])
    store.setAccounts(accounts, device: device)
  }

  /// Replaces the stored state of this or another account.
  func replace(_ state: AccountState) throws {
    try store.saveAccountStates([state.id: state.encoded])
    if state.id == account.id { account = state } else { accounts.set(state) }
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
    for state in states { grown.set(state) }
    accounts = grown
  }

  /// Returns the hash of an account's state.
  func head(of id: AccountID) -> [UInt8]? {
    if let known = heads[id] { return known }
    let head = accounts[id]?.head(cryptography)
    heads[id] = head
    return head
  }

  // MARK: The account's key

  /// This device's power to sign for its account, or nil if it may sign nothing.
  var power: AccountPower? { AccountPower(account, device, signer: signer, secrets: secrets) }

  /// Whether this machine holds the key that currently signs for the account.
  var holdsAccountKey: Bool { signer?.publicKey == account.signingKey }

  /// Sets the account's key. It is used if it is the account's current key.
  func sign(with signer: AccountSigner) { self.signer = signer }
}
