import MeshControl

/// Changes shares of this account by requests to the engine's node.
struct ShareEditor {
  let node: SyncActivity

  /// Shares a record, or changes its share.
  ///
  /// - Parameters:
  ///   - key: The record's primary key.
  ///   - literal: The key as an SQL literal.
  ///   - known: The record's share, or nil if it has none.
  ///   - configure: Changes the title and the permissions.
  /// - Returns: The share as the node has it, and as `configure` has left it.
  func share(
    _ table: String, _ key: String, _ literal: String, _ known: ShareReport?, _ configure: (inout Share) -> Void
  ) async throws -> (report: ShareReport, edited: Share) {
    let status = try await node.perform(StatusRequest())
    let before =
      known.flatMap { Share($0, account: status.account, accountName: status.accountName) }
      ?? Share(
        id: "", recordType: table, recordPrimaryKey: key,
        owner: Share.Participant(
          id: status.account, name: status.accountName, role: .owner, permission: .readWrite,
          acceptanceStatus: .accepted), currentUser: status.account)
    var edited = before
    configure(&edited)
    guard let known else {
      let title = edited.title ?? "\(table) \(key)"
      return (try await node.perform(ShareCreateRequest(table: table, key: literal, title: title)), edited)
    }
    if known.role == .owner {
      try await change(known.id, from: before, to: edited)
    } else if edited != before {
      throw SyncError(
        .notOwner,
        "The share \(before.title ?? before.id) belongs to another account, and only its owner can change it.")
    }
    return (known, edited)
  }

  private func change(_ id: String, from before: Share, to after: Share) async throws {
    if let title = after.title, title != before.title {
      _ = try await node.perform(ShareChangeRequest(.rename, share: id, title: title))
    }
    for participant in before.participants where participant.role != .owner {
      let new = after.participants.first { $0.id == participant.id }?.permission.ofNode
      if participant.acceptanceStatus == .pending {
        // An account that is only invited has nothing yet.
        if new == nil { try await revokeInvites(of: id) { $0.account == participant.id } }
      } else if let new {
        guard new != participant.permission.ofNode else { continue }
        _ = try await node.perform(
          ShareChangeRequest(.setPermission, share: id, account: participant.id, permission: new))
      } else {
        _ = try await node.perform(ShareChangeRequest(.remove, share: id, account: participant.id))
      }
    }
    guard after.publicPermission != before.publicPermission else { return }
    try await revokeInvites(of: id) { $0.account == nil && $0.usesLeft == nil }
  }

  private func revokeInvites(of share: String, _ isMeant: (ShareReport.Invite) -> Bool) async throws {
    for invite in try await node.perform(ShareRequest(share: share)).invites
    where invite.state == .open && isMeant(invite) {
      _ = try await node.perform(ShareChangeRequest(.uninvite, share: share, invite: invite.id))
    }
  }

  /// Returns a new invite to the share. With a public permission, everybody can join by it, and otherwise one account.
  func invite(to report: ShareReport, _ permission: Share.ParticipantPermission) async throws -> String {
    let request =
      if let permission = permission.ofNode {
        ShareInviteRequest(share: report.id, permission: permission, uses: nil)
      } else {
        ShareInviteRequest(share: report.id, permission: .readWrite)
      }
    return try await node.perform(request).link
  }
}
