/// The status of an account in a zone that it doesn't own.
package struct Participant: Sendable, Equatable {
  /// Whether the account is a member, or how it ceased to be one.
  package enum Status: Sendable, Hashable {
    /// The account is a member with this permission.
    case member(Permission)
    /// The owner removed the account.
    case removed
    /// The account left by itself.
    case left
  }

  /// The status according to the records that count.
  package let status: Status
  /// The record that sets the status. For a member with permission to write, its authors cite this record from now on.
  package let grant: ControlID
  /// The invite by which the account came.
  package let invite: ControlID?
  /// The account of the member that admitted it by an open invite, or nil if the owner let it in.
  package let admittedBy: AccountID?
  /// The account's permission now or before it left. Nil if the account was removed.
  package let granted: Permission?

  /// The permission of a member, or nil if the account is no member any more.
  package var permission: Permission? {
    if case .member(let permission) = status { permission } else { nil }
  }
}

/// A record that let an account write.
struct WriteGrant: Sendable, Equatable {
  let account: AccountID
  /// The cutoffs of authors that cite the grant. Authors that are not listed are cut at zero. Nil while no author has a
  /// cutoff.
  let ceiling: [Author: ControlAct.CutPoint]?
}

/// An invite, as the log describes it.
package struct InviteState: Sendable, Equatable {
  /// The id of the record that made the invite.
  package let id: ControlID
  /// The permission that the invite grants, and the accounts that may use it.
  package let terms: InviteTerms
  /// The records that revoke it.
  private(set) var revocations: Set<ControlID> = []
  /// The accounts that it let in.
  package internal(set) var accounts: Set<AccountID> = []
  /// The accounts whose admissions stand after the invite was revoked.
  private var standing: Set<AccountID> = []

  init(id: ControlID, terms: InviteTerms) {
    self.id = id
    self.terms = terms
  }

  /// Whether a record revokes the invite.
  package var isRevoked: Bool { !revocations.isEmpty }

  mutating func revoke(by record: ControlID, leaving accounts: [AccountID]) {
    standing = isRevoked ? standing.intersection(accounts) : Set(accounts)
    revocations.insert(record)
  }

  /// Returns whether the invite permits an admission by this claim.
  func lets(in claim: ShareClaim) -> Bool {
    terms.use == .open && terms.publicHalf == claim.publicHalf && terms.isFor(claim.account)
      && (!isRevoked || standing.contains(claim.account))
  }

  /// The number of accounts that it can still let in, or nil if the number is unlimited.
  package var usesLeft: UInt64? {
    guard case .limited(let uses, _) = terms.use else { return nil }
    return uses - min(uses, UInt64(accounts.count))
  }
}
