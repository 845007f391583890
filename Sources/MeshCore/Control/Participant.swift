/// What a zone's log says of an account that is not its owner.
public struct Participant: Sendable, Equatable {
  public enum Status: Sendable, Hashable {
    case member(Permission)
    case removed
    case left
  }

  public let status: Status
  /// The record that says so: of a member with permission to write, what its authors cite from now on.
  public let grant: ControlID
  /// By which the account came.
  public let invite: ControlID?
  /// The account of the member that let it in by an open invite; nil where the owner did.
  public let admittedBy: AccountID?
  /// What it may do, or might before it left; nil of who was removed.
  public let granted: Permission?

  public var permission: Permission? {
    if case .member(let permission) = status { permission } else { nil }
  }
}

/// A word that let an account write.
struct WriteGrant: Sendable, Equatable {
  let account: AccountID
  /// Where authors end that cite it; those that are not listed at zero. Nil while none does.
  let ceiling: [Author: ControlAct.CutPoint]?
}

/// An invite as the log has it.
public struct Invite: Sendable, Equatable {
  public let id: ControlID
  public let terms: InviteTerms
  /// The records that revoke it.
  private(set) var revocations: Set<ControlID> = []
  /// Whom it let in.
  public internal(set) var accounts: Set<AccountID> = []
  /// Of a revoked one: whose admissions stand.
  private var standing: Set<AccountID> = []

  init(id: ControlID, terms: InviteTerms) {
    self.id = id
    self.terms = terms
  }

  public var isRevoked: Bool { !revocations.isEmpty }

  mutating func revoke(by record: ControlID, leaving accounts: [AccountID]) {
    standing = isRevoked ? standing.intersection(accounts) : Set(accounts)
    revocations.insert(record)
  }

  /// Whether an admission by the claim stands, as far as the invite goes.
  func lets(in claim: ShareClaim) -> Bool {
    terms.use == .open && terms.publicHalf == claim.publicHalf && terms.isFor(claim.account)
      && (!isRevoked || standing.contains(claim.account))
  }

  /// How many it can still let in; nil for any number.
  public var usesLeft: UInt64? {
    guard case .limited(let uses, _) = terms.use else { return nil }
    return uses - min(uses, UInt64(accounts.count))
  }
}
