import Foundation
import MeshControl

/// A record that several accounts have, with the records that refer to it.
///
/// Its members have the names that `CKShare` gives them.
public struct Share: Codable, Hashable, Identifiable, Sendable {
  /// The id of the share. It is empty in `configure` of ``SyncEngine/share(record:configure:)`` for a record that isn't
  /// shared yet.
  public internal(set) var id: String
  /// The title, which the other accounts see before they join. Nil means the table and the key.
  public var title: String?
  /// The table of the root record.
  public internal(set) var recordType: String
  /// The text of the root record's primary key.
  public internal(set) var recordPrimaryKey: String
  /// The permission of all accounts that have an invite to the share. It is initially ``ParticipantPermission/none``, and
  /// then each invite admits one account. Accounts that have joined keep their permission when you change it.
  public var publicPermission: ParticipantPermission
  /// The members: the owner first, then the others, then the accounts that are invited by name.
  ///
  /// In `configure`, the owner can change the ``Participant/permission`` of a participant.
  public var participants: [Participant] {
    get { [owner] + others }
    set { others = newValue.filter { $0.role != .owner } }
  }
  /// The account that created the share.
  public internal(set) var owner: Participant
  private var others: [Participant]
  /// The id of the account of this device.
  var currentUser: String
  /// The reason that this device can't write although the account may.
  var obstacle: String?

  init(
    id: String, title: String? = nil, recordType: String, recordPrimaryKey: String,
    publicPermission: ParticipantPermission = .none, owner: Participant, others: [Participant] = [],
    currentUser: String,
    obstacle: String? = nil
  ) {
    (self.id, self.title, self.recordType, self.recordPrimaryKey) = (id, title, recordType, recordPrimaryKey)
    (self.publicPermission, self.owner, self.others) = (publicPermission, owner, others)
    (self.currentUser, self.obstacle) = (currentUser, obstacle)
  }

  /// The account of this device, or nil if it isn't a member.
  public var currentUserParticipant: Participant? { participants.first { $0.id == currentUser } }

  /// The permission of this device's account.
  public var permission: ParticipantPermission {
    guard let participant = currentUserParticipant else { return publicPermission }
    return obstacle == nil || participant.permission != .readWrite ? participant.permission : .readOnly
  }

  /// Removes a participant. The participant loses the rows of the share.
  public mutating func removeParticipant(_ participant: Participant) {
    others.removeAll { $0.id == participant.id }
  }

  /// A value of a share that is set by its name.
  public struct SystemFieldKey: Hashable, Sendable {
    fileprivate let name: String

    /// The title.
    public static let title = SystemFieldKey(name: "title")
  }

  /// A value by its name.
  public subscript(key: SystemFieldKey) -> String? {
    get { title }
    set { title = newValue }
  }

  /// The permission of an account.
  public enum ParticipantPermission: String, Codable, Sendable {
    /// The account has no access.
    case none
    /// The account may read.
    case readOnly
    /// The account may read and write.
    case readWrite
  }

  /// The role of an account in a share.
  public enum ParticipantRole: String, Codable, Sendable {
    /// The account created the share.
    case owner
    /// The account was invited.
    case privateUser
  }

  /// The state of an account's invitation.
  public enum ParticipantAcceptanceStatus: String, Codable, Sendable {
    /// The account is invited and hasn't joined.
    case pending
    /// The account is a member.
    case accepted
  }

  /// An account that is a member of a share, or invited by name.
  public struct Participant: Codable, Hashable, Identifiable, Sendable {
    /// The id of the account.
    public internal(set) var id: String
    /// The name that the account gave itself, or nil until one of its devices has been connected to this one.
    public internal(set) var name: String?
    /// The role of the account.
    public internal(set) var role: ParticipantRole
    /// The permission of the account. In `configure`, the owner can change it.
    public var permission: ParticipantPermission
    /// The state of the account's invitation.
    public internal(set) var acceptanceStatus: ParticipantAcceptanceStatus
  }

  /// The share that an invite leads to.
  public struct Metadata: Hashable, Sendable {
    /// The text of the invite.
    public let link: String
    /// The id of the share.
    public let shareID: String
    /// The title of the share.
    public let title: String
    /// The id of the owner's account.
    public let ownerID: String
    /// The table of the root record, if it is known.
    public let rootRecordType: String?
    /// The text of the root record's primary key, if it is known.
    public let rootRecordPrimaryKey: String?
    /// The permission that this account will have, if it is known.
    public let participantPermission: ParticipantPermission?
    /// Whether this account is already a member.
    public let isAccepted: Bool
  }
}

/// A shared record, for an app that shows it to a person.
public struct SharedRecord: Hashable, Identifiable, Sendable {
  /// The share.
  public let share: Share
  /// The text with which another account joins by ``SyncEngine/acceptShare(_:)``. It is a secret. It is nil if the
  /// share belongs to another account, because only the owner invites.
  public let link: String?

  /// The id of the share.
  public var id: Share.ID { share.id }
  /// The title of the share.
  public var title: String { share.title ?? "" }
  /// The members of the share.
  public var participants: [Share.Participant] { share.participants }
}

extension Share {
  /// Creates the share of a report, or returns nil if it has ended for this account.
  init?(_ report: ShareReport, account: String, accountName: String) {
    guard report.role != .ended, !report.stopped else { return nil }
    let isOwner = report.role == .owner
    let owner = Participant(
      id: report.owner, name: isOwner ? accountName : report.ownerName, role: .owner, permission: .readWrite,
      acceptanceStatus: .accepted)
    var participants: [Participant] = []
    for participant in report.participants where participant.status == .accepted {
      participants.append(
        Participant(
          id: participant.account, name: participant.account == account ? accountName : participant.name,
          role: .privateUser, permission: ParticipantPermission(participant.permission), acceptanceStatus: .accepted))
    }
    for invite in report.invites where invite.state == .open {
      guard let invited = invite.account, !participants.contains(where: { $0.id == invited }) else { continue }
      participants.append(
        Participant(
          id: invited, name: nil, role: .privateUser, permission: ParticipantPermission(invite.permission),
          acceptanceStatus: .pending))
    }
    self.init(
      id: report.id, title: report.title, recordType: report.table, recordPrimaryKey: report.key.keyText,
      publicPermission: report.publicInvites.map { ParticipantPermission($0.permission) }.max() ?? .none,
      owner: owner, others: participants, currentUser: account, obstacle: report.cannotWrite)
  }
}

extension ShareReport {
  /// The invites that admit every account that has their text.
  var publicInvites: [Invite] {
    invites.filter { $0.state == .open && $0.usesLeft == nil && $0.account == nil }
  }
}

extension Share.ParticipantPermission: Comparable {
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .none: 0
    case .readOnly: 1
    case .readWrite: 2
    }
  }

  init(_ permission: SharePermission?) {
    switch permission {
    case .readOnly: self = .readOnly
    case .readWrite: self = .readWrite
    case nil: self = .none
    }
  }

  /// The permission of the node, or nil for none.
  var ofNode: SharePermission? {
    switch self {
    case .none: nil
    case .readOnly: .readOnly
    case .readWrite: .readWrite
    }
  }
}

extension ReportedValue {
  /// The text of a key, without the quotes for display.
  var keyText: String {
    if case .text(let text) = self { return text }
    return description
  }
}
