/// The content of an invite to a share, which `mesh share invite` prints: the invite's secret, the share's id, and
/// addresses to dial.
public struct ShareLink: Hashable, Sendable {
  /// The seed of the invite's Ed25519 key: 32 bytes.
  public let seed: [UInt8]
  public let zone: ZoneID
  /// The account that owns the share. Naming it keeps others from presenting another share in its place.
  public let owner: AccountID
  public let invite: ControlID
  /// Texts of the form `HOST:PORT`. More than `Limits.linkAddresses`, and those longer than `Limits.name` bytes, are
  /// left out.
  public let addresses: [String]

  public init(seed: [UInt8], zone: ZoneID, owner: AccountID, invite: ControlID, addresses: [String]) {
    self.seed = seed
    self.zone = zone
    self.owner = owner
    self.invite = invite
    self.addresses = LinkText.bounded(addresses)
  }

  public var text: String {
    LinkText.encode(.share) { writer in
      writer.raw(seed)
      zone.write(to: &writer)
      owner.write(to: &writer)
      invite.write(to: &writer)
      writer.list(addresses) { $0.text($1) }
    }
  }

  public init(text: String) throws(LinkFault) {
    self = try LinkText.decode(text, .share) { (reader: inout ByteReader) throws(DecodingError) in
      ShareLink(
        seed: try reader.raw(32), zone: try ZoneID(from: &reader), owner: try AccountID(from: &reader),
        invite: try ControlID(from: &reader), addresses: try LinkText.addresses(&reader))
    }
  }
}
