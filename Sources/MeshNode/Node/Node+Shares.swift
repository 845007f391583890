import MeshControl
import MeshCore
import MeshReplication
import MeshStore
import MeshTransport

/// Answers commands about shares.
extension Node {
  func share(_ share: String) throws -> ShareReport { try report(try self.share(named: share)) }

  func shares() throws -> SharesReport {
    SharesReport(shares: try replica.zoneIDs.compactMap { try shareReport($0) })
  }

  private func shareReport(_ zone: ZoneID) throws -> ShareReport? {
    guard let state = replica.shareState(zone), let root = state.root, let owner = state.owner else { return nil }
    let me = replica.account.id
    let names = try store.accountNames()
    let role: ShareReport.Role =
      owner == me
      ? .owner : state.permission(me).map { $0 == .readWrite ? .readWrite : .readOnly } ?? .ended
    return ShareReport(
      id: zone.description, title: printable(state.title), table: root.table, key: ReportedValue(root.key),
      owner: owner.description, ownerName: names[owner], role: role, stopped: state.isStopped,
      reason: replica.reasonOutside(zone) ?? (state.isStopped ? "this account has stopped sharing it" : nil),
      cannotWrite: try replica.zoneView(zone)?.cannotWrite,
      records: Int(try store.digest(zone).records),
      epoch: state.currentEpoch?.id.description,
      lastActivity: try store.mergedHeads(zone).values.map(\.time).max().map { Self.date($0.milliseconds) },
      participants: state.participants.sorted { $0.key < $1.key }.map {
        participantReport($0.key, $0.value, name: names[$0.key], isStopped: state.isStopped)
      },
      invites: state.invites.values.sorted { $0.id < $1.id }.map(inviteReport))
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
    let devices = (replica.accountState(account)?.liveDevices ?? []).map {
      ShareReport.Participant.Device(device: $0.description, name: deviceName($0) ?? "")
    }
    return ShareReport.Participant(
      account: account.description, name: name, status: status,
      permission: isStopped ? nil : participant.permission.map(SharePermission.init),
      devices: devices)
  }

  private func inviteReport(_ invite: Invite) -> ShareReport.Invite {
    let terms = invite.terms
    let state: ShareReport.Invite.State =
      invite.isRevoked
      ? .revoked : terms.isOver(at: time.milliseconds()) ? .expired : invite.usesLeft == 0 ? .used : .open
    return ShareReport.Invite(
      id: invite.id.description, permission: SharePermission(terms.permission), state: state,
      usesLeft: invite.usesLeft.map { Int(clamping: $0) }, expires: terms.expires == 0 ? nil : Self.date(terms.expires),
      account: terms.account?.description)
  }

  // MARK: The owner

  /// The number of checks whether a record has moved, at intervals of 20 ms. It takes longer only if many rows are
  /// pending.
  private static let moveLooks = 50

  func shareCreate(_ request: ShareCreateRequest) async throws -> ShareReport {
    guard try store.hasTable(request.table) else {
      throw Refusal(
        code: "share.refused", message: "There is no table \(printable(request.table)) in \(store.path).")
    }
    let names = try store.keys(written: request.key, table: request.table).map {
      RecordName(table: request.table, key: $0)
    }
    let found = try names.first { name in
      if case .noRecord = try store.obstacle(toSharing: name) { false } else { true }
    }
    let title = request.title ?? "\(request.table) \(request.key)"
    try checkTitle(title, way: "give one with --title")
    let root = found ?? RecordName(table: request.table, key: .text(Array(request.key.utf8)))
    let zone = try replica.shares.create(of: root, title: title, now: time.now)
    performActions()
    // The records move with the next flushes. The report shows the result of that.
    for _ in 0..<Self.moveLooks where try store.digest(zone).records == 0 || store.pendingCount() > 0 {
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
          "A share's title has 1 to \(Limits.deviceName) bytes, not blanks only, and no control characters: \(way).")
    }
  }

  func shareInvite(_ request: ShareInviteRequest) throws -> ShareInviteReport {
    guard let listening else {
      throw Refusal(
        code: "daemon.needed", message: "An invite needs a running daemon to answer it: start one with mesh serve.",
        exit: .daemonNeeded)
    }
    let zone = try share(named: request.share)
    let account = try request.account.map(invited)
    if account == DisplayedID(replica.account.id) {
      throw Refusal(
        code: "account.own", message: "This is the account that invites: its devices have the share already.",
        exit: .usage)
    }
    let addresses = LocalAddresses.toAdvertise(listening, configured: configuration.advertise)
    let now = time.now
    let link = try replica.shares.invite(
      to: zone, Permission(request.permission), uses: request.uses,
      expires: request.expires.map { now.wall + Int64($0.inSeconds * 1_000) } ?? 0,
      account: account, addresses: addresses, now: now)
    return ShareInviteReport(
      share: zone.description, invite: link.invite.description, link: link.text, addresses: link.addresses)
  }

  func shareChange(_ request: ShareChangeRequest) throws -> ShareReport {
    let zone = try share(named: request.share)
    func subject() throws -> AccountID { try account(named: request.account ?? "", zone) }
    switch request.act {
    case .uninvite:
      try replica.shares.revokeInvite(try invite(named: request.invite ?? "", zone), of: zone, now: time.now)
    case .setPermission:
      try replica.shares.setPermission(
        request.permission.map(Permission.init) ?? .readOnly, of: try subject(), in: zone, now: time.now)
    case .remove: try replica.shares.remove(try subject(), from: zone, undoing: request.undo ?? false, now: time.now)
    case .leave: try replica.shares.leave(zone, keepingCopy: request.keepCopy ?? false, now: time.now)
    case .stop: try replica.shares.stop(zone, now: time.now)
    case .rename:
      let title = request.title ?? ""
      try checkTitle(title, way: "give another")
      try replica.shares.rename(zone, title, now: time.now)
    }
    return try report(zone)
  }

  func shareReceipt(_ request: ShareReceiptRequest) throws -> ShareReceiptReport {
    let zone = try share(named: request.share)
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
          message: "Not restored: \(why). The values stay here: mesh share receipt --json shows them.")
      }
      if let reason = try replica.zoneView(zone)?.cannotWrite {
        throw Refusal(
          code: "share.notPermitted",
          message:
            "This device can't write to the share now, so nothing can be restored: \(reason). The values stay here.")
      }
      (restored, inTheWay) = try store.restoreReceipts(zone)
      replica.databaseChanged()
    } else if request.discard ?? false {
      discarded = try store.discardReceipts(zone)
    }
    return ShareReceiptReport(
      receipts: try store.receipts(zone).map { receipt in
        ShareReceiptReport.Receipt(
          table: receipt.record.table, key: ReportedValue(receipt.record.key),
          values: receipt.values?.mapValues { ReportedValue($0) },
          reason: receipt.reason == .notPermitted ? .notPermitted : .cut,
          noted: Self.date(receipt.noted))
      }, restored: restored, discarded: discarded,
      inTheWay: inTheWay.sorted().map { ShareReceiptReport.Record(table: $0.table, key: ReportedValue($0.key)) })
  }

  private func report(_ zone: ZoneID) throws -> ShareReport {
    guard let report = try shareReport(zone) else { throw ShareError.unknownShare(zone) }
    return report
  }

  // MARK: Joining

  /// Dials the invite's addresses in turn until one shows the share.
  ///
  /// A member is already done, unless another participant admitted it. The owner may never hear of that admission, and
  /// then admits it again.
  func shareJoin(_ request: ShareJoinRequest) async throws -> ShareJoinReport {
    let link = try ShareLink(text: request.link)
    let addresses = ((request.peers ?? []) + link.addresses).compactMap { HostPort($0) }
    if isOwn(link) {
      throw Refusal(
        code: "share.own",
        message:
          "“\(printable(replica.title(link.zone)))” is this account's own share: its devices have it already. The "
          + "invite is for another account.")
    }
    let joined = memberReport(link)
    if let joined {
      // An earlier attempt may have been interrupted here.
      remember(addresses)
      guard isAdmittedByParticipant(link) else { return joined }
    }
    var reasons: [String] = []
    var waiting: ShareJoinReport?
    var refused: Refusal?
    for address in addresses {
      do {
        let report = try await join(link, at: address, claims: request.claims)
        if report.state == .joined { remember(addresses) }
        // Another address may belong to a device that can admit.
        guard report.state == .waiting else { return report }
        dialSoon([address])
        waiting = report
      } catch let error as TransportError {
        reasons.append("\(address): \(error.message)")
      } catch let refusal as Refusal where refusal.code == Self.refusedCode {
        // Another device may know more about the invite, or about accounts that left.
        refused = refused ?? refusal
      }
    }
    if let waiting { return waiting }
    if let refused { throw refused }
    if let joined { return joined }
    throw Refusal(
      code: "link.unreachable",
      message: "No address of the invite could be reached:\n  " + reasons.joined(separator: "\n  ")
        + "\nCheck that a member's daemon runs there and that the network lets this machine through, or name another member's "
        + "address with --peer.", exit: .noMember)
  }

  /// Returns the report for an account that is already a member, or nil for others.
  private func memberReport(_ link: ShareLink) -> ShareJoinReport? {
    guard let state = replica.shareState(link.zone), let permission = state.permission(replica.account.id) else {
      return nil
    }
    var report = joinReport(.joined, link, state.title, state.root, permission)
    report.wasMember = true
    return report
  }

  private func isOwn(_ link: ShareLink) -> Bool { replica.shareState(link.zone)?.owner == replica.account.id }

  private func isAdmittedByParticipant(_ link: ShareLink) -> Bool {
    let state = replica.shareState(link.zone)
    guard let member = state?.participants[replica.account.id]?.admittedBy else { return false }
    return member != state?.owner
  }

  private static let refusedCode = "link.refused"

  private func join(_ link: ShareLink, at address: HostPort, claims: Bool) async throws -> ShareJoinReport {
    let connection = try await transport.dial(host: address.host, port: Int(address.port))
    return try await withThrowingTaskGroup(of: ShareJoinReport.self) { group in
      defer {
        group.cancelAll()
        connection.close()
      }
      group.addTask { try await self.ask(connection, link, at: address, claims: claims) }
      group.addTask {
        try await Task.sleep(for: Self.joinPatience)
        connection.close()
        throw TransportError(.timedOut, "the node there did not show the share in time")
      }
      guard let report = try await group.next() else { throw TransportError(.closed, "nobody was asked") }
      return report
    }
  }

  /// The time that one address may take to show the share and to admit.
  private static let joinPatience = Duration.seconds(20)

  private func ask(
    _ connection: Link, _ link: ShareLink, at address: HostPort, claims: Bool
  ) async throws -> ShareJoinReport {
    let info = LinkInfo(
      role: .dialler, handshakeHash: connection.handshakeHash, remoteStatic: connection.remoteStatic,
      address: address.description)
    var joining = replica.admission.joining(link, info, claims: claims)
    var outputs = joining.start()
    var messages = connection.messages.makeAsyncIterator()
    var offer: ShareJoining.Offer?
    var isTaken = false
    while true {
      for output in outputs {
        switch output {
        case .send(let message): connection.send(message.encoded)
        case .offered(let offered):
          offer = offered
          isTaken = try isRootTaken(offered.root, link)
          if !claims {
            return joinReport(
              .offered, link, offered.title, offered.root, offered.permission, isRootTaken: isTaken)
          }
        case .done(let joined):
          try replica.admission.adopt(joined, now: time.now)
          let state = replica.shareState(link.zone)
          guard state?.permission(replica.account.id) != nil else {
            return joinReport(
              .waiting, link, offer?.title ?? "", state?.root, nil,
              "this account has left the share, and the node at \(address) has not heard of it yet")
          }
          return joinReport(
            .joined, link, state?.title ?? "", state?.root, state?.permission(replica.account.id), isRootTaken: isTaken)
        case .wait(let reason):
          return joinReport(.waiting, link, offer?.title ?? "", offer?.root, offer?.permission, reason)
        case .refused(let reason): throw Refusal(code: Self.refusedCode, message: "Joining was refused: \(reason).")
        }
      }
      guard let bytes = await messages.next() else {
        throw TransportError(.peerClosed, connection.closeReason?.message ?? "the peer closed the connection")
      }
      do {
        outputs = try Message.decode(bytes).map { joining.receive($0) } ?? []
      } catch {
        throw Refusal(
          code: Self.refusedCode,
          message: "Joining was refused: what the node at \(address) said breaks a rule of the format: \(error).")
      }
    }
  }

  private func joinReport(
    _ state: ShareJoinReport.State, _ link: ShareLink, _ title: String, _ root: RecordName?,
    _ permission: Permission?, _ reason: String? = nil, isRootTaken: Bool = false
  ) -> ShareJoinReport {
    ShareJoinReport(
      state: state, share: link.zone.description, title: printable(title), owner: link.owner.description,
      table: root?.table, key: root.map { ReportedValue($0.key) }, permission: permission.map(SharePermission.init),
      reason: reason,
      isRootTaken: isRootTaken, rival: root.flatMap { rival(of: $0, besides: link.zone)?.description })
  }

  /// Returns another share here whose root has that name, whether or not its rows have arrived.
  private func rival(of root: RecordName, besides zone: ZoneID) -> ZoneID? {
    replica.zoneIDs.first { other in
      guard other != zone, let state = replica.shareState(other), let theirs = state.root, !state.isStopped,
        state.permission(replica.account.id) != nil
      else { return false }
      return theirs.table.folded == root.table.folded && theirs.key == root.key
    }
  }

  /// Returns whether the file has a record in that place, private or in another share: a copy that was kept, or one
  /// with the same name.
  private func isRootTaken(_ root: RecordName, _ link: ShareLink) throws -> Bool {
    switch try store.obstacle(toSharing: root) {
    case nil: true
    case .alreadyShared(_, let zone): zone != link.zone
    default: false
    }
  }

  /// Makes the node dial the members from now on.
  private func remember(_ addresses: [HostPort]) {
    dialSoon(addresses)
    let new = addresses.filter { !wantedPeers.contains($0) }
    if !new.isEmpty { changeKnownPeers { for address in new { $0.dial(address) } } }
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
    let why =
      titled.isEmpty ? "there is no share with that id or title" : "\(titled.count) shares have that title: give the id"
    throw Refusal(code: "share.unknown", message: "\(printable(text)): \(why). See mesh share list.")
  }

  /// Returns a present or former account of the share by its id, by its name, or by the name of a device. Accounts
  /// choose their own names, so an ambiguous name is refused.
  private func account(named text: String, _ zone: ZoneID) throws -> AccountID {
    let accounts = replica.shareState(zone)?.accounts ?? []
    if let account = try AccountID.named(text, among: accounts) { return account }
    let names = try store.accountNames()
    let named = accounts.filter { account in
      names[account] == text
        || replica.accountState(account)?.liveDevices.contains { deviceName($0) == text } ?? false
    }
    if let only = named.first, named.count == 1 { return only }
    let why =
      named.isEmpty
      ? "no account that the share has or had, nor a device of one"
      : "the name of \(named.count) accounts or their devices: give the account's id"
    throw Refusal(code: "account.unknown", message: "\(printable(text)) is \(why). See mesh share show.")
  }

  /// Returns any account, whether this node has met it or not.
  private func invited(_ text: String) throws -> DisplayedID<AccountKind> {
    if let id = DisplayedID<AccountKind>(text) { return id }
    let met = replica.zoneIDs.flatMap { replica.shareState($0)?.accounts ?? [] }
    if let account = try AccountID.named(text, among: met) { return DisplayedID(account) }
    let fault = AccountID.fault(inDisplayed: text) ?? ""
    throw Refusal(
      code: "account.unknown",
      message: "\(printable(text)) is no account's id: \(fault). There, mesh account show prints it.", exit: .usage)
  }

  private func invite(named text: String, _ zone: ZoneID) throws -> ControlID {
    let invites = replica.shareState(zone)?.invites.keys.map(\.self) ?? []
    if let invite = try ControlID.named(text, among: invites) { return invite }
    throw Refusal(
      code: "invite.unknown", message: "\(printable(text)) is no invite of the share. See mesh share invites.")
  }
}

extension SharePermission {
  init(_ permission: Permission) {
    switch permission {
    case .readOnly: self = .readOnly
    case .readWrite: self = .readWrite
    }
  }
}

extension Permission {
  init(_ permission: SharePermission) {
    switch permission {
    case .readOnly: self = .readOnly
    case .readWrite: self = .readWrite
    }
  }
}
