import MeshCore

/// The part of a zone's control log that an account may know after it left: the records that say so, and those that
/// lead to them. A removed account can therefore read its removal, and learns nothing later.
extension Zone {
  /// Returns the records that a peer may know, or nil if it may know all, as this account and members do.
  func visibleRecords(to peer: AccountID, here: AccountID) -> Set<ControlID>? {
    guard peer != here, state.permission(peer) == nil else { return nil }
    let subject = Subject(peer, log, owner: state.owner)
    return log.past(of: log.records.filter { concerns($0, subject) }.map(\.id))
  }

  /// The participants and devices whose records decide whether an account is a member. Without the cut of a device that
  /// admitted it, or the removal of a participant that did, the account would consider itself a member.
  private struct Subject {
    let account: AccountID
    /// The account, and the participants on whose admissions its own depends.
    private(set) var accounts: Set<AccountID>
    /// The invites with which they came.
    private(set) var invites: Set<ControlID> = []
    /// The devices that wrote records about them.
    private(set) var devices: Set<DeviceID> = []

    init(
      _ account: AccountID, _ log: ZoneLog, owner: AccountID?
    ) {
      self.account = account
      accounts = [account]
      let records = [.participant, .admission].flatMap { log.records(of: $0) }
      let words = records.compactMap { record -> (author: DeviceID, about: AccountID, invite: ControlID?)? in
        switch record.act {
        case .participant(let account, _, let invite, _): (record.author, account, invite)
        case .admission(let claim): (record.author, claim.account, claim.invite)
        default: nil
        }
      }
      var left = [account]
      while let next = left.popLast() {
        for word in words where word.about == next {
          devices.insert(word.author)
          if let invite = word.invite { invites.insert(invite) }
          guard let author = log.state.account(of: word.author), author != owner, accounts.insert(author).inserted
          else { continue }
          left.append(author)
        }
      }
    }
  }

  /// Returns the accounts that those records name.
  func visiblePeople(to peer: AccountID, here: AccountID, _ cryptography: any Cryptography) -> ZonePeople {
    guard let visible = visibleRecords(to: peer, here: here) else { return people }
    return visible.reduce(into: ZonePeople(state.zone)) { people, id in
      if let act = log[id]?.act { people.meet(act, cryptography) }
    }
  }

  /// Returns the record that lets a member in, after those that it builds on, to show it to a device of the owner that
  /// does not know it. If there is no room for all, it returns the last ones. It returns nil for the owner, and for an
  /// account that is no member.
  ///
  /// - Parameter room: The bytes that may be sent, and those that are left then.
  func introduction(of member: AccountID, room: inout Int) -> [[UInt8]]? {
    guard member != state.owner, state.permission(member) != nil, let grant = state.participants[member]?.grant else {
      return nil
    }
    // More bytes than the length of a record and its part of a message take.
    let overhead = 64
    let past = log.past(of: [grant])
    var batch: [[UInt8]] = []
    for record in log.records.filter({ past.contains($0.id) }).suffix(Limits.controlBatch).reversed() {
      guard room > record.size + overhead else { break }
      room -= record.size + overhead
      batch.insert(record.encoded, at: 0)
    }
    return batch.isEmpty ? nil : batch
  }

  private func concerns(_ record: ControlRecord, _ subject: Subject) -> Bool {
    let author = state.account(of: record.author)
    if author == subject.account { return true }
    return switch record.act {
    case .participant(let account, _, _, _): subject.accounts.contains(account)
    case .admission(let claim): subject.accounts.contains(claim.account)
    case .leave: author.map(subject.accounts.contains) ?? false
    case .cut(let cut): subject.devices.contains(cut.device) || state.account(of: cut.device) == subject.account
    case .revokeInvite(let invite, _): subject.invites.contains(invite)
    // An account that had left before is not affected by the stop.
    case .stop: if case .member = state.participants[subject.account]?.status { true } else { false }
    default: false
    }
  }
}
