/// The permission that an invite to a share grants, and who may claim it.
package struct InviteTerms: Hashable, Sendable {
  /// An Ed25519 public key. A device that has the secret half can claim the invite.
  package let publicHalf: [UInt8]
  /// The permission of the accounts that claim the invite.
  package let permission: Permission
  /// When the invite expires, in milliseconds since 1970, by the clock of the device that lets the account in. 0 means
  /// that the invite never expires.
  package let expires: Int64
  /// How often the invite can be used, and which devices may let accounts in.
  package let use: Use
  /// The only account that may use the invite, by its displayed id. Nil means any account.
  package let account: DisplayedID<AccountKind>?

  /// The use of an invite: by any number of accounts, or by a limited number.
  package enum Use: Hashable, Sendable {
    /// Any number of accounts. Any member may let them in.
    case open
    /// This number of accounts, at least one. One of the owner's devices lets them in, because a single device can rule
    /// out one too many.
    case limited(UInt64, by: DeviceID)
  }

  package init(
    publicHalf: [UInt8], permission: Permission, expires: Int64, use: Use, account: DisplayedID<AccountKind>?
  ) {
    self.publicHalf = publicHalf
    self.permission = permission
    self.expires = expires
    self.use = use
    self.account = account
  }

  /// Returns whether this account may use the invite.
  package func isFor(_ id: AccountID) -> Bool { account?.names(id) ?? true }

  /// Returns whether the invite has expired.
  ///
  /// - Parameter now: Milliseconds since 1970.
  package func isOver(at now: Int64) -> Bool { expires > 0 && expires <= now }

  func write(to writer: inout ByteWriter) {
    writer.raw(publicHalf)
    writer.byte(permission.rawValue)
    writer.signedVarint(expires)
    switch use {
    case .open: writer.varint(0)
    case .limited(let uses, let device):
      writer.varint(uses)
      device.write(to: &writer)
    }
    writer.byte(account == nil ? 0 : 1)
    account?.write(to: &writer)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    publicHalf = try reader.raw(32)
    guard let permission = Permission(rawValue: try reader.byte()) else { throw .unknown("permission") }
    self.permission = permission
    expires = try reader.signedVarint()
    guard expires >= 0 else { throw .invalid("an invite expires after 1970") }
    let uses = try reader.varint()
    use = uses == 0 ? .open : .limited(uses, by: try DeviceID(from: &reader))
    account = try reader.flag() ? try DisplayedID(from: &reader) : nil
  }
}
