/// The states of several accounts, and the account of each device.
package struct Accounts: Sendable, Equatable {
  /// The states by the accounts' ids.
  package private(set) var states: [AccountID: AccountState] = [:]
  /// A device has more than one account only if it asked several accounts for a certificate.
  private var accounts: [DeviceID: Set<AccountID>] = [:]
  /// Those whose states may have dropped certificates.
  private(set) var mayHaveDropped: Set<AccountID> = []

  /// Creates the collection. If it gets several states of one account, the last one stays.
  package init(_ states: some Sequence<AccountState> = []) {
    for state in states { set(state) }
  }

  /// The state of an account, or nil if it isn't here.
  package subscript(_ id: AccountID) -> AccountState? { states[id] }

  /// Returns the account that certified the device. If several did, returns the one with the lowest id.
  package func account(certifying device: DeviceID) -> AccountID? { accounts[device]?.min() }

  /// Replaces the account's state. States only grow.
  package mutating func set(_ state: AccountState) {
    // A state drops certificates that their signers had no right to issue.
    if let known = states[state.id] {
      for device in known.certificates.keys where state.certificates[device] == nil {
        accounts[device]?.remove(state.id)
      }
    }
    states[state.id] = state
    if state.mayHaveDropped { mayHaveDropped.insert(state.id) } else { mayHaveDropped.remove(state.id) }
    for device in state.certificates.keys { accounts[device, default: []].insert(state.id) }
  }

  /// Removes the state of an account.
  package mutating func remove(_ id: AccountID) {
    for device in states[id]?.certificates.keys ?? [:].keys { accounts[device]?.remove(id) }
    states[id] = nil
    mayHaveDropped.remove(id)
  }

  /// Returns the account that a device belongs to.
  ///
  /// - Parameter first: The account to return if it certified the device.
  /// - Parameter others: The other accounts to consider. The one with the lowest id wins.
  package func account(of device: DeviceID, first: AccountID?, among others: Set<AccountID>) -> AccountID? {
    guard let candidates = accounts[device], !candidates.isEmpty else { return nil }
    if let first, candidates.contains(first) { return first }
    return candidates.filter(others.contains).min()
  }
}
