/// What `mesh share invite` prints: an invite's secret, which share it is for, and where to dial.
public struct ShareLink: Hashable, Sendable {
  /// 32 bytes; the Ed25519 key that it opens to is the invite's.
  public let seed: [UInt8]
  public let zone: ZoneID
  /// Whose the share is: so nobody else can show another one in its place.
  public let owner: AccountID
  public let invite: ControlID
  /// `HOST:PORT`, at most `Limits.linkAddresses`, each at most `Limits.name` bytes: more and longer ones are left out.
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
