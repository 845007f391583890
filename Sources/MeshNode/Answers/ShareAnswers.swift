import FoundationEssentials
import MeshControl
import MeshCore
import MeshReplication
import MeshStore
import MeshTransport

/// Answers requests about shares.
struct ShareAnswers: NodePart {
  let context: NodeContext

  func share(_ share: String) throws -> ShareReport { try report(try self.share(named: share)) }

  func shares() throws -> SharesReport {
    let receipts = try store.zones.receiptCounts()
    return SharesReport(shares: try replica.zoneIDs.compactMap { try shareReport($0, receipts) })
  }

  /// Returns the numbers of receipts, by share. Other zones have no command that shows them.
  func receiptCounts() throws -> [String: Int] {
    let shares = try store.zones.receiptCounts().filter { zone, _ in replica.shareState(zone) != nil }
    return Dictionary(shares.map { ($0.key.description, $0.value) }, uniquingKeysWith: +)
  }

  /// The shares that have ended for this account, with the reason.
  var ended: [(zone: ZoneID, reason: String)] {
    replica.zoneIDs.compactMap { zone in replica.reasonOutside(zone).map { (zone, printable($0)) } }
  }

  private func shareReport(_ zone: ZoneID, _ receipts: [ZoneID: Int]) throws -> ShareReport? {
    guard let state = replica.shareState(zone), let root = state.root, let owner = state.owner else { return nil }
    let me = replica.account.id
    let names = try names()
    let role: ShareReport.Role =
      owner == me
      ? .owner : state.permission(me).map { $0 == .readWrite ? .readWrite : .readOnly } ?? .ended
    return ShareReport(
      id: zone.description, title: printable(state.title), table: root.table, key: ReportedValue(root.key),
      owner: owner.description, ownerName: names[owner], role: role, stopped: state.isStopped,
      reason: replica.reasonOutside(zone) ?? (state.isStopped ? "this account has stopped sharing it" : nil),
      cannotWrite: try replica.zoneViews.view(zone)?.cannotWrite,
      records: Int(try store.zones.digest(zone).records),
      epoch: state.currentEpoch?.id.description,
      lastActivity: try store.log.mergedTips(zone).values.map(\.time).max().map {
        Date(milliseconds: $0.milliseconds)
      },
      receipts: receipts[zone] ?? 0,
      participants: state.participants.sorted { $0.key < $1.key }.map {
        participantReport($0.key, $0.value, name: names[$0.key], isStopped: state.isStopped)
      },
      invites: state.invites.values.sorted { $0.id < $1.id }.map(inviteReport))
  }

  /// Returns the names of the accounts that this node has met, and of its own.
  private func names() throws -> [AccountID: String] {
    var names = try store.control.accountNames()
    names[replica.account.id] = try replica.privateZone.flatMap { try replica.zoneViews.view($0) }?.title
    return names
  }

  private func participantReport(
    _ account: AccountID, _ participant: Participant, name: String?, isStopped: Bool
  ) -> ShareReport.Participant {
    let status: ShareReport.Participant.Status =
      switch participant.status {
      case .member: isStopped ? .stopped : .accepted
      case .removed: .removed
      case .left: .left
      }
    let live = (replica.accountState(account)?.liveDevices ?? []).map {
      ShareReport.Participant.Device(device: $0.description, name: devices.name(of: $0) ?? "")
    }
    return ShareReport.Participant(
      account: account.description, name: name, status: status,
      permission: isStopped ? nil : participant.permission.map(SharePermission.init),
      devices: live)
  }

  private func inviteReport(_ invite: InviteState) -> ShareReport.Invite {
    let terms = invite.terms
    let state: ShareReport.Invite.State =
      invite.isRevoked
      ? .revoked : terms.isOver(at: time.milliseconds()) ? .expired : invite.usesLeft == 0 ? .used : .open
    return ShareReport.Invite(
      id: invite.id.description, permission: SharePermission(terms.permission), state: state,
      usesLeft: invite.usesLeft.map { Int(clamping: $0) },
      expires: terms.expires == 0 ? nil : Date(milliseconds: terms.expires),
      account: terms.account?.description)
  }

  // MARK: The owner

  /// The number of checks whether a record has moved, at intervals of 20 ms. It takes longer only if many rows are
  /// pending.
  private static let moveLooks = 50

  nonisolated(nonsending) func create(_ request: ShareCreateRequest) async throws -> ShareReport {
    guard try store.tables.hasTable(request.table) else {
      throw Refusal(
        code: "share.refused", message: "there is no table \(printable(request.table)) in \(store.path).")
    }
    let names = try store.tables.keys(written: request.key, table: request.table).map {
      RecordName(table: request.table, key: $0)
    }
    let found = try names.first { name in
      if case .noRecord = try store.zones.obstacle(toSharing: name) { false } else { true }
    }
    let title = request.title ?? "\(request.table) \(request.key)"
    try checkTitle(title, way: "give one with --title")
    let root = found ?? RecordName(table: request.table, key: .text(Array(request.key.utf8)))
    let zone = try replica.shares.create(of: root, title: title, now: time.now)
    driver.performActions()
    // The records move with the next flushes. The report shows the result of that.
    for _ in 0..<Self.moveLooks where try store.zones.digest(zone).records == 0 || store.localWrites.pendingCount() > 0
    {
      try await Task.sleep(for: .milliseconds(20))
    }
    return try report(zone)
  }

  private func checkTitle(_ title: String, way: String) throws {
    guard title == printable(title), title.utf8.count <= Limits.deviceName,
      !title.unicodeScalars.allSatisfy(\.properties.isWhitespace)
    else {
      throw Refusal(
        code: "share.title",
        message:
          "a share's title has 1 to \(Limits.deviceName) bytes, not blanks only, and no control characters: \(way).")
    }
  }

  func invite(_ request: ShareInviteRequest) throws -> ShareInviteReport {
    let toAdvertise = try addresses.toAdvertise()
    let zone = try share(named: request.share)
    let account = try request.account.map(invited)
    if account == DisplayedID(replica.account.id) {
      throw Refusal(
        code: "account.own", message: "this is the account that invites: its devices have the share already.",
        exit: .usage)
    }
    let now = time.now
    let expires = request.expires.map { now.wall + Int64($0.inSeconds * 1_000) }
    let invite = try replica.shares.invite(
      to: zone, Permission(request.permission), uses: request.uses,
      expires: expires ?? 0,
      account: account, addresses: toAdvertise, now: now)
    return ShareInviteReport(
      share: zone.description, invite: invite.record.description, link: invite.text, addresses: invite.addresses,
      permission: request.permission, uses: request.uses, expires: expires.map { Date(milliseconds: $0) },
      account: account?.description)
  }

  nonisolated(nonsending) func change(_ request: ShareChangeRequest) async throws -> ShareReport {
    let zone = try share(named: request.share)
    // Another account may not even know the account that the request names.
    if request.act != .leave, replica.shareState(zone)?.owner != replica.account.id { throw ShareError.notOwner }
    func needed<T>(_ value: T?, _ field: String) throws -> T {
      guard let value else {
        throw Refusal(
          code: "share.what", message: "“\(request.act.rawValue)” needs “\(field)”, and the request has none.",
          exit: .usage)
      }
      return value
    }
    func subject() throws -> AccountID { try account(named: try needed(request.account, "account"), zone) }
    switch request.act {
    case .uninvite:
      let invite = try invite(named: try needed(request.invite, "invite"), zone)
      try replica.shares.revokeInvite(invite, of: zone, now: time.now)
    case .setPermission:
      let permission = Permission(try needed(request.permission, "permission"))
      try replica.shares.setPermission(permission, of: try subject(), in: zone, now: time.now)
    case .remove: try replica.shares.remove(try subject(), from: zone, undoing: request.undo ?? false, now: time.now)
    case .leave:
      // BLOBs that programs have just written count as well.
      try await takeInWrites()
      if request.force != true { try checkDelivered(zone) }
      try replica.shares.leave(zone, keepingCopy: request.keepCopy ?? false, now: time.now)
      // The owner's device may have been away for less than one attempt.
      addresses.dialSoon(Array(addresses.wanted))
      try await waitUntilEmpty(zone)
    case .stop: try replica.shares.stop(zone, now: time.now)
    case .rename:
      let title = try needed(request.title, "title")
      try checkTitle(title, way: "give another")
      try replica.shares.rename(zone, title, now: time.now)
    }
    return try report(zone)
  }

  /// Waits a second until the rows of a share have left the tables, so that the answer counts most of the writes that
  /// became receipts. Without a daemon, it does the work, for as long as a request may take.
  private nonisolated(nonsending) func waitUntilEmpty(_ zone: ZoneID) async throws {
    let deadline = ContinuousClock.now + .seconds(1)
    while try store.zones.digest(zone).records > 0, ContinuousClock.now < deadline {
      try await takeInWrites()
      try await Task.sleep(for: Self.look)
    }
  }

  /// Throws a `Refusal` if BLOBs that this account wrote would be lost for the others.
  private func checkDelivered(_ zone: ZoneID) throws {
    let undelivered = try store.assets.undelivered(zone, limit: .max)
    guard !undelivered.isEmpty else { return }
    let size = undelivered.reduce(0) { $0.saturatingAdding($1.size) }
    throw Refusal(
      code: "share.undelivered",
      message:
        "\(undelivered.count.counted("BLOB", "BLOBs")) (\(size.asBytes)) of those that this account wrote have not "
        + "arrived at a device of the share's owner, and if this account leaves, the others never get them. mesh wait waits for "
        + "them, except for those that the owner fetches on demand. mesh peers shows who is connected. To leave all the "
        + "same, add --force.")
  }

  func receipt(_ request: ShareReceiptRequest) throws -> ShareReceiptReport {
    let zone = try share(named: request.share)
    if request.restore == true, request.discard == true {
      throw Refusal(
        code: "share.what", message: "receipts are restored or discarded, and the request asks for both.", exit: .usage)
    }
    var restored = 0
    var inTheWay: Set<RecordName> = []
    var discarded = 0
    if request.restore ?? false {
      guard replica.shareState(zone)?.permission(replica.account.id) == .readWrite else {
        let why =
          replica.reasonOutside(zone).map { "\(printable($0)), so nothing can be restored" }
          ?? "this account may not write to the share now, so nothing can be restored; the owner grants it with mesh share "
          + "set-permission"
        throw Refusal(
          code: "share.notPermitted",
          message: "not restored: \(why). The values stay here: mesh share receipt --json shows them.")
      }
      if let reason = try replica.zoneViews.view(zone)?.cannotWrite {
        throw Refusal(
          code: "share.notPermitted",
          message:
            "this device can't write to the share now, so nothing can be restored: \(reason). The values stay here.")
      }
      (restored, inTheWay) = try store.zones.restoreReceipts(zone)
      replica.databaseChanged()
    } else if request.discard ?? false {
      discarded = try store.zones.discardReceipts(zone)
    }
    var room = Self.receiptBytes
    func reported(_ value: Value) -> ReportedValue {
      guard case .blob(let bytes) = value, bytes.count > Limits.inlineBlob else { return ReportedValue(value) }
      room -= bytes.count
      return room < 0 ? .asset("BLOB", size: bytes.count) : ReportedValue(value)
    }
    return ShareReceiptReport(
      receipts: try store.zones.receipts(zone).map { receipt in
        ShareReceiptReport.Receipt(
          table: receipt.record.table, key: ReportedValue(receipt.record.key),
          values: receipt.values?.mapValues(reported),
          reason: receipt.reason == .notPermitted ? .notPermitted : .cut,
          noted: Date(milliseconds: receipt.noted))
      }, restored: restored, discarded: discarded,
      inTheWay: inTheWay.sorted().map { ShareReceiptReport.Record(table: $0.table, key: ReportedValue($0.key)) })
  }

  /// The maximum number of bytes of long BLOBs in one answer about receipts. For others, it has only the size.
  private static let receiptBytes = 16 << 20

  private func report(_ zone: ZoneID) throws -> ShareReport {
    guard let report = try shareReport(zone, store.zones.receiptCounts()) else { throw ShareError.unknownShare(zone) }
    return report
  }

  // MARK: Names

  /// Returns a share by its displayed id, or by its title if exactly one share has it.
  private func share(named text: String) throws -> ZoneID {
    let all = replica.zoneIDs.compactMap { replica.shareState($0) }
    if let zone = try ZoneID.named(text, among: all.map(\.zone)) { return zone }
    // Shares that have ended have no claim to a title.
    let alike = all.filter { $0.title == text }
    let open = alike.filter { !$0.isStopped && $0.permission(replica.account.id) != nil }
    let titled = open.isEmpty ? alike : open
    if let only = titled.first, titled.count == 1 { return only.zone }
    guard titled.isEmpty else {
      let ids = titled.map(\.zone.description).sorted().joined(separator: ", ")
      throw Refusal(
        code: "share.ambiguous",
        message: "\(printable(text)): \(titled.count) shares have that title. Give the id of one: \(ids).")
    }
    let why = ZoneID.advice(onShort: text) ?? "there is no share with that id or title"
    throw Refusal(code: "share.unknown", message: "\(printable(text)): \(why). See mesh share list.")
  }

  /// Returns a present or former account of the share by its id, by its name, or by the name of a device. Accounts
  /// choose their own names, so an ambiguous name is refused.
  private func account(named text: String, _ zone: ZoneID) throws -> AccountID {
    let accounts = replica.shareState(zone)?.accounts ?? []
    if let account = try AccountID.named(text, among: accounts) { return account }
    let names = try names()
    let named = accounts.filter { account in
      names[account] == text
        || replica.accountState(account)?.liveDevices.contains { devices.name(of: $0) == text } ?? false
    }
    if let only = named.first, named.count == 1 { return only }
    guard named.isEmpty else {
      throw Refusal(
        code: "account.ambiguous",
        message:
          "\(printable(text)): \(named.count) accounts or their devices have that name: give the account's id. See mesh "
          + "share show.")
    }
    let why =
      AccountID.advice(onShort: text)
      ?? "the share has and had no account with that id or name, or with such a device"
    throw Refusal(code: "account.unknown", message: "\(printable(text)): \(why). See mesh share show.")
  }

  /// Returns any account, whether this node has met it or not.
  private func invited(_ text: String) throws -> DisplayedID<AccountKind> {
    if let id = DisplayedID<AccountKind>(text) { return id }
    let met = replica.zoneIDs.flatMap { replica.shareState($0)?.accounts ?? [] }
    if let account = try AccountID.named(text, among: met) { return DisplayedID(account) }
    // Anybody can choose any name, so a name admits nobody.
    let names = try names()
    let named = Set(met).filter { names[$0] == text }.sorted()
    let reason =
      named.isEmpty
      ? "is not an account's id: \(AccountID.fault(inDisplayed: text) ?? ""). On a device of that account, mesh account show "
        + "prints it."
      : "is a name, which any account can choose. Give the id: \(named.map(\.description).joined(separator: ", or "))."
    throw Refusal(code: "account.unknown", message: "\(printable(text)) \(reason)", exit: .usage)
  }

  private func invite(named text: String, _ zone: ZoneID) throws -> ControlID {
    let invites = replica.shareState(zone)?.invites.keys.map(\.self) ?? []
    if let invite = try ControlID.named(text, among: invites) { return invite }
    let why = ControlID.advice(onShort: text) ?? "the share has no invite with that id"
    throw Refusal(code: "invite.unknown", message: "\(printable(text)): \(why). See mesh share invites.")
  }
}

extension SharePermission {
  init(_ permission: Permission) { self = permission == .readWrite ? .readWrite : .readOnly }
}

extension Permission {
  init(_ permission: SharePermission) { self = permission == .readWrite ? .readWrite : .readOnly }
}
