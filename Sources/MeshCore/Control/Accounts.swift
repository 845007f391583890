/// The states of several accounts, and whose each device is.
public struct Accounts: Sendable, Equatable {
  public private(set) var states: [AccountID: AccountState] = [:]
  /// More than one only where a device asked several accounts for a certificate.
  private var accounts: [DeviceID: Set<AccountID>] = [:]

  public init(_ states: some Sequence<AccountState> = []) {
    for state in states { set(state) }
  }

  public subscript(_ id: AccountID) -> AccountState? { states[id] }

  /// An account that certified the device: the one with the lowest id.
  public func account(certifying device: DeviceID) -> AccountID? { accounts[device]?.min() }

  /// Puts a state in the place of the one that is here; states only grow.
  public mutating func set(_ state: AccountState) {
    // A state drops what its signers had no right to leave in it.
    if let known = states[state.id] {
      for device in known.certificates.keys where state.certificates[device] == nil {
        accounts[device]?.remove(state.id)
      }
    }
    states[state.id] = state
    for device in state.certificates.keys { accounts[device, default: []].insert(state.id) }
  }

  /// Whose a device is, of these accounts: the first one's where that certified it, else the one with the lowest id.
  public func account(of device: DeviceID, first: AccountID?, among others: Set<AccountID>) -> AccountID? {
    guard let candidates = accounts[device], !candidates.isEmpty else { return nil }
    if let first, candidates.contains(first) { return first }
    return candidates.filter(others.contains).min()
  }
}
