/// The content of an invite to a share, which `mesh share invite` prints: the invite's secret, the share's id, and
/// addresses to dial.
package struct ShareInviteContent: Hashable, Sendable {
  /// The seed of the invite's Ed25519 key: 32 bytes.
  package let seed: [UInt8]
  /// The share's zone.
  package let zone: ZoneID
  /// The account that owns the share. Naming it keeps others from presenting another share in its place.
  package let owner: AccountID
  /// The id of the control record that made the invite.
  package let record: ControlID
  /// Texts of the form `HOST:PORT`. More than `Limits.inviteAddresses`, and those longer than `Limits.name` bytes, are
  /// left out.
  package let addresses: [String]

  package init(seed: [UInt8], zone: ZoneID, owner: AccountID, record: ControlID, addresses: [String]) {
    self.seed = seed
    self.zone = zone
    self.owner = owner
    self.record = record
    self.addresses = InviteText.bounded(addresses)
  }

  /// The line that people copy: `mesh-share-` and base32 (see `InviteText`).
  package var text: String {
    InviteText.encode(.share) { writer in
      writer.raw(seed)
      zone.write(to: &writer)
      owner.write(to: &writer)
      record.write(to: &writer)
      writer.list(addresses) { $0.text($1) }
    }
  }

  /// Reads an invite that a person pasted.
  ///
  /// - Throws: A `InviteFault` that says what is wrong with the text, and how to get a valid one.
  package init(text: String) throws(InviteFault) {
    self = try InviteText.decode(text, .share) { (reader: inout ByteReader) throws(FormatError) in
      ShareInviteContent(
        seed: try reader.raw(32), zone: try ZoneID(from: &reader), owner: try AccountID(from: &reader),
        record: try ControlID(from: &reader), addresses: try InviteText.addresses(&reader))
    }
  }
}
