package import MeshCore

/// A peer with an open session, as people and tests see it.
package struct PeerView: Sendable {
  package var link: LinkID
  package var device: DeviceID
  package var account: AccountID
  package var name: String
  package var address: String
  package var role: SessionBinding.Role
  package var zones: [ZoneID]
  /// The number of new change sets that it has sent in this session.
  package var received: UInt64
  /// The vectors that the peer last said it has merged.
  package var merged: [ZoneID: VersionVector]
  /// The vectors that it has acknowledged with its signature.
  package var acknowledged: [ZoneID: VersionVector]
  /// The missing assets of the acknowledged change sets, by zone. A zone is absent until the peer has said so.
  package var backlogs: [ZoneID: AssetBacklog]
  package var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)]
}

/// The peers, as people and tests see them.
package struct PeerViews: Part {
  let context: Context

  /// The peers with an open session, by device.
  package var all: [PeerView] {
    sessions.sorted.compactMap { link, session in
      guard session.machine.isOpen, let peer = session.peer else { return nil }
      return PeerView(
        link: link, device: peer.device, account: peer.account, name: peer.request.name, address: session.info.address,
        role: session.info.role, zones: session.machine.commonZones, received: session.progress.received,
        merged: session.progress.merged, acknowledged: session.progress.acknowledged,
        backlogs: session.progress.backlogs, digests: session.progress.digests)
    }
  }

  /// Returns the account of the device at the other end of a session, once it is identified.
  package func account(at link: LinkID) -> AccountID? { sessions[link]?.peer?.account }

  /// Returns whether the peer of a session has proven its identity or that it has an invite.
  package func hasMet(_ link: LinkID) -> Bool { sessions.hasMet(link) }

  /// Returns the device at the other end of a session, so that its address isn't dialled again. The session is open, or
  /// ends because the device has another one.
  package func device(at link: LinkID) -> DeviceID? { sessions.device(at: link) }
}
