/// What an invite to a share offers, and to whom.
public struct InviteTerms: Hashable, Sendable {
  /// Ed25519: who has the other half can claim it.
  public let publicHalf: [UInt8]
  public let permission: Permission
  /// Milliseconds since 1970, by the clock of whoever lets in; 0 for never.
  public let expires: Int64
  public let use: Use
  /// The only account that it lets in, as people tell it to each other; nil for any.
  public let account: DisplayedID<AccountKind>?

  public enum Use: Hashable, Sendable {
    /// Any number of accounts, let in by any member.
    case open
    /// This many, above zero, let in by one of the owner's devices: alone it can rule out one more.
    case limited(UInt64, by: DeviceID)
  }

  public init(
    publicHalf: [UInt8], permission: Permission, expires: Int64, use: Use, account: DisplayedID<AccountKind>?
  ) {
    self.publicHalf = publicHalf
    self.permission = permission
    self.expires = expires
    self.use = use
    self.account = account
  }

  /// Whether it is for this account, and not for another.
  public func isFor(_ id: AccountID) -> Bool { account?.names(id) ?? true }

  public func isOver(at now: Int64) -> Bool { expires > 0 && expires <= now }

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

  init(from reader: inout ByteReader) throws(DecodingError) {
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
