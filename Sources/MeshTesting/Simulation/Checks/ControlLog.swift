import MeshCore

/// The records of a zone's control log, read a second time in the simplest way. The past of a record is found by
/// walking.
struct ControlLog {
  private let records: [ControlID: ControlRecord]
  private let account: (DeviceID) -> AccountID?
  private var pasts: [ControlID: Set<ControlID>] = [:]

  /// - Parameter account: Returns the account of a device.
  init(_ records: [ControlRecord], account: @escaping (DeviceID) -> AccountID?) {
    self.account = account
    self.records = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for id in self.records.keys { pasts[id] = past(of: id) }
  }

  private func past(of id: ControlID) -> Set<ControlID> {
    var past: Set<ControlID> = []
    var stack = [id]
    while let next = stack.popLast() {
      for before in before(next) where past.insert(before).inserted { stack.append(before) }
    }
    return past
  }

  private func before(_ id: ControlID) -> [ControlID] {
    guard let record = records[id] else { return [] }
    return record.parents + (record.previous.map { [$0] } ?? [])
  }

  func record(_ id: ControlID) -> ControlRecord? { records[id] }

  /// All records, ascending by id.
  var all: [ControlRecord] { records.keys.sorted().compactMap { records[$0] } }

  func account(of record: ControlRecord) -> AccountID? { account(record.author) }

  func hasSeen(_ later: ControlID, _ earlier: ControlID) -> Bool { pasts[later]?.contains(earlier) ?? false }

  /// Returns whether a record has seen a valid removal of the account, and no record has let the account in since, in
  /// its past or elsewhere.
  func isOut(_ account: AccountID, at id: ControlID) -> Bool {
    let grants = records.values.filter { $0.grants(account) }.map(\.id)
    return records.values.contains { removal in
      guard putsOut(removal, account), hasSeen(id, removal.id), !isCut(removal) else { return false }
      return grants.allSatisfy { hasSeen(removal.id, $0) }
    }
  }

  private func putsOut(_ record: ControlRecord, _ account: AccountID) -> Bool {
    switch record.act {
    case .participant(account, nil, _, _): true
    case .leave: self.account(of: record) == account
    default: false
    }
  }

  /// Returns whether a record that is not valid lowered the account's permission or ended the share.
  func hasLoweredInVain(_ account: AccountID) -> Bool {
    records.values.contains { record in
      switch record.act {
      case .participant(account, let permission, _, _): permission != .readWrite && isCut(record)
      case .stop, .leave: isCut(record)
      default: false
      }
    }
  }

  /// Returns whether the record's device was revoked with a last control record before this one.
  private func isCut(_ record: ControlRecord) -> Bool {
    records.values.contains {
      if case .cut(let cut) = $0.act {
        cut.device == record.author && cut.last?.number ?? 0 < record.number
      } else {
        false
      }
    }
  }

  func hasCut(_ device: DeviceID, before id: ControlID) -> Bool {
    records.values.contains { record in
      if case .cut(let cut) = record.act { cut.device == device && hasSeen(id, record.id) } else { false }
    }
  }
}

extension ControlRecord {
  /// Returns whether the record lets an account in, or changes its permission without removing it.
  func grants(_ account: AccountID) -> Bool {
    switch act {
    case .participant(account, .some, _, _): true
    case .admission(let claim): claim.account == account
    default: false
    }
  }
}

extension ControlLog {
  /// Returns the records that decide whether an account is a member: those about it and about the participants that
  /// admitted it, cuts of devices, revoked invites, and the end of the share.
  func records(concerning account: AccountID) -> [ControlID] {
    var (accounts, size) = (Set([account]), 0)
    while accounts.count != size {
      size = accounts.count
      for record in all {
        if case .admission(let claim) = record.act, accounts.contains(claim.account) {
          if let member = self.account(of: record) { accounts.insert(member) }
        }
      }
    }
    return all.filter { record in
      switch record.act {
      case .participant(let subject, _, _, _): accounts.contains(subject)
      case .admission(let claim): accounts.contains(claim.account)
      case .leave: self.account(of: record).map(accounts.contains) ?? false
      case .cut, .revokeInvite, .stop: true
      default: self.account(of: record) == account
      }
    }.map(\.id)
  }
}
