import MeshControl
import MeshCore
import MeshReplication
import MeshStore
import MeshTransport

/// Joins shares.
struct ShareJoinAnswers: NodePart {
  let context: NodeContext

  /// Dials the invite's addresses in turn until one shows the share.
  ///
  /// A member is already done, unless another participant admitted it. The owner may never hear of that admission, and
  /// then admits it again.
  nonisolated(nonsending) func join(_ request: ShareJoinRequest) async throws -> ShareJoinReport {
    let invite = try ShareInviteContent(text: request.link)
    let members = ((request.peers ?? []) + invite.addresses).compactMap { HostPort($0) }
    if isOwn(invite) {
      throw Refusal(
        code: "share.own",
        message:
          "“\(printable(replica.title(invite.zone)))” is this account's own share: its devices have it already. The "
          + "invite is for another account.")
    }
    let joined = memberReport(invite)
    if let joined {
      // An earlier attempt may have been interrupted here.
      addresses.remember(members)
      guard isAdmittedByParticipant(invite) else { return joined }
    }
    var reasons: [String] = []
    var waiting: ShareJoinReport?
    var refused: Refusal?
    for address in members {
      do {
        let report = try await join(invite, at: address, claims: request.claims)
        if report.state == .joined { addresses.remember(members) }
        // Another address may belong to a device that can admit.
        guard report.state == .waiting else { return report }
        addresses.dialSoon([address])
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
      message: "no address of the invite could be reached:\n  " + reasons.joined(separator: "\n  ")
        + "\nCheck that a member's daemon runs there and that the network lets this machine through, or name another member's "
        + "address with --peer.", exit: .noMember)
  }

  /// Returns the report for an account that is already a member, or nil for others.
  private func memberReport(_ invite: ShareInviteContent) -> ShareJoinReport? {
    guard let state = replica.shareState(invite.zone), let permission = state.permission(replica.account.id) else {
      return nil
    }
    var report = joinReport(.joined, invite, state.title, state.root, permission)
    report.wasMember = true
    return report
  }

  private func isOwn(_ invite: ShareInviteContent) -> Bool {
    replica.shareState(invite.zone)?.owner == replica.account.id
  }

  private func isAdmittedByParticipant(_ invite: ShareInviteContent) -> Bool {
    let state = replica.shareState(invite.zone)
    guard let member = state?.participants[replica.account.id]?.admittedBy else { return false }
    return member != state?.owner
  }

  private static let refusedCode = "link.refused"

  private nonisolated(nonsending) func join(
    _ invite: ShareInviteContent, at address: HostPort, claims: Bool
  ) async throws -> ShareJoinReport {
    let connection = try await context.transport.dial(host: address.host, port: Int(address.port))
    defer { connection.close() }
    async let _: Void = Self.close(connection, after: Self.joinPatience)
    return try await ask(connection, invite, at: address, claims: claims)
  }

  private static func close(_ connection: Link, after patience: Duration) async {
    guard (try? await Task.sleep(for: patience)) != nil else { return }
    connection.close(TransportError(.timedOut, "the node there did not show the share in time"))
  }

  /// The time that one address may take to show the share and to admit.
  private static let joinPatience = Duration.seconds(20)

  private nonisolated(nonsending) func ask(
    _ connection: Link, _ invite: ShareInviteContent, at address: HostPort, claims: Bool
  ) async throws -> ShareJoinReport {
    let info = LinkInfo(
      role: .dialler, handshakeHash: connection.handshakeHash, remoteStatic: connection.remoteStatic,
      address: address.description)
    var joining = replica.admission.joining(invite, info, claims: claims)
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
          isTaken = try isRootTaken(offered.root, invite)
          guard claims else {
            return joinReport(
              .offered, invite, offered.title, offered.root, offered.permission, isRootTaken: isTaken)
          }
        case .done(let joined): return try adopt(joined, invite, at: address, offer, isRootTaken: isTaken)
        case .wait(let reason):
          return joinReport(.waiting, invite, offer?.title ?? "", offer?.root, offer?.permission, reason)
        case .refused(let reason): throw Refusal(code: Self.refusedCode, message: "joining was refused: \(reason).")
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
          message: "joining was refused: what the node at \(address) said breaks a rule of the format: \(error).")
      }
    }
  }

  private func adopt(
    _ joined: JoinedShare, _ invite: ShareInviteContent, at address: HostPort, _ offer: ShareJoining.Offer?,
    isRootTaken: Bool
  ) throws -> ShareJoinReport {
    try replica.admission.adopt(joined, now: time.now)
    let state = replica.shareState(invite.zone)
    guard let state, let permission = state.permission(replica.account.id) else {
      return joinReport(
        .waiting, invite, offer?.title ?? "", state?.root, nil,
        "this account has left the share, and the node at \(address) has not heard of it yet")
    }
    return joinReport(.joined, invite, state.title, state.root, permission, isRootTaken: isRootTaken)
  }

  private func joinReport(
    _ state: ShareJoinReport.State, _ invite: ShareInviteContent, _ title: String, _ root: RecordName?,
    _ permission: Permission?, _ reason: String? = nil, isRootTaken: Bool = false
  ) -> ShareJoinReport {
    ShareJoinReport(
      state: state, share: invite.zone.description, title: printable(title), owner: invite.owner.description,
      ownerName: try? store.control.accountNames()[invite.owner], table: root?.table,
      key: root.map { ReportedValue($0.key) }, permission: permission.map(SharePermission.init),
      reason: reason,
      isRootTaken: isRootTaken, rival: root.flatMap { rival(of: $0, besides: invite.zone)?.description })
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
  private func isRootTaken(_ root: RecordName, _ invite: ShareInviteContent) throws -> Bool {
    switch try store.zones.obstacle(toSharing: root) {
    case nil: true
    case .alreadyShared(_, let zone): zone != invite.zone
    default: false
    }
  }
}
