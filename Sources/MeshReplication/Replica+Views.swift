package import MeshCore

/// Views of a replica for people and tests.
extension Replica {
  package var device: DeviceID { context.device }
  package var account: AccountState { book.account }
  package var certificate: Certificate? { account.certificate(device) }
  /// True if the account revoked this device, or has not confirmed it since its key was replaced.
  package var isExcluded: Bool { account.isExcluded(device) }
  package var zoneIDs: [ZoneID] { zones.ids }
  /// The zone of all records that are not in a share.
  package var privateZone: ZoneID? { zones.privateZone(of: account.id) }
  /// Sentences about this device's instances that a person should know, since the start.
  package var notices: [String] { incidents.notices }

  /// Notes that the database had nothing of this device, although it has signed change sets.
  package func noteOtherFile() {
    incidents.notify(
      "the database had nothing of what this device synchronized: another file took its place, or it was created again. Track "
        + "this file's tables: mesh schema, and mesh track")
  }

  /// The number of refused change sets since the start, by reason.
  package var refusals: [String: Int] { incidents.refusals }
  /// True if some of them were refused for another reason than their author's permission or certificate.
  package var hasRefusedFaults: Bool { refusals.keys.contains { Cutoffs.Refusal(rawValue: $0) == nil } }
  /// The number of rows that were compared with the merged values since the start, and of those that had changed
  /// unnoticed.
  package var compared: (rows: Int, differences: Int) { localWrites.compared }

  /// True to keep the rows of every share that ends for this account, as records of this account.
  package var keepsCopies: Bool {
    get { standings.keepsCopies }
    set { standings.keepsCopies = newValue }
  }

  /// Decides for each share that others end for this account whether its rows stay.
  package var keepsRows: (@Sendable (ZoneID) -> Bool)? {
    get { standings.keepsRows }
    set { standings.keepsRows = newValue }
  }

  /// Returns the reason that this account is no longer a participant of a share, or nil if it is one.
  package func reasonOutside(_ zone: ZoneID) -> String? { zones[zone]?.reasonOutside(account.id) }

  package func isMember(_ account: AccountID, of zone: ZoneID) -> Bool {
    zones[zone]?.state.permission(account) != nil
  }

  /// Returns the account that a zone belongs to, once it is known.
  package func owner(of zone: ZoneID) -> AccountID? { zones[zone]?.state.owner }

  /// Returns the title of a zone, or an empty string if it has none.
  package func title(_ zone: ZoneID) -> String { zones[zone]?.state.title ?? "" }

  /// Returns the certificate of a device of this account or of another account that a zone here lists.
  package func certificate(of device: DeviceID) -> Certificate? {
    account.certificates[device] ?? accounts.states.values.lazy.compactMap { $0.certificates[device] }.first
  }

  /// Returns whether the device is excluded by its account, which may be any known account: it was revoked, or waits for
  /// its confirmation (see `AccountState`). Revocations by other accounts don't count, because anybody can make them.
  package func isExcluded(_ device: DeviceID) -> Bool {
    account.isExcluded(device)
      || certificate(of: device).flatMap { accounts.states[$0.account] }?.isExcluded(device) ?? false
  }

  /// The reason that this machine's clock is not believed, or nil if it is. Nothing is signed while there is one.
  package var clockFault: String? { clocks.fault?.text }

  /// True if a zone has change sets to merge or merged records to show.
  package var isMergeDue: Bool { due.hasMerges }

  package func shareState(_ zone: ZoneID) -> ZoneState? {
    zones[zone].flatMap { $0.state.root == nil ? nil : $0.state }
  }

  /// Returns the state of an account of a share, as far as it is known here.
  package func accountState(_ id: AccountID) -> AccountState? { accounts[id] }

  /// Returns the reader of a zone's change sets.
  package func reader(_ id: ZoneID) -> ChangeSetReader { changeSetReader(id) }
}
