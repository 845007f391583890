/// The storage for data that must never be in the database: keys, and the state that a restored database would lack.
/// Writes are durable (fsynced) when a call returns.
package protocol Vault: AnyObject {
  /// Returns the keys of a zone's epochs.
  func epochKeys(_ zone: ZoneID) throws -> [EpochID: EpochKey]
  /// Adds keys, all in one durable write. The keys that are there stay.
  func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws
  /// Returns the displayed ids of the zones of which it has keys.
  func zones() throws -> [String]
  /// Returns the last change set that this device signed in a zone.
  func highWaterMark(_ zone: ZoneID) throws -> HighWaterMark?
  /// Saves the last change set that this device signed in a zone. The number is 0 if the instance has signed nothing
  /// yet.
  func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws
  /// Returns whether this home was copied from the place where it was last used. Then the device may also be running
  /// there. False if it was never noted where the home is.
  func isCopy() throws -> Bool
  /// Notes that the home is where it is now. A node does so when it makes a home, and each time it starts.
  func settle() throws
  /// Returns the device invites that this node printed and that have not expired.
  func deviceInvites() throws -> [IssuedInvite]
  /// Replaces the invites, in one durable write.
  func saveDeviceInvites(_ links: [IssuedInvite]) throws
}

/// The last change set that a device signed, saved beside the keys after each commit and before sending. If the
/// database is behind it, the file was restored or copied.
package struct HighWaterMark: Hashable, Sendable {
  /// The instance that signed the change set.
  package let instance: InstanceID
  /// The change set's number, or 0 if the instance has signed nothing yet.
  package let number: UInt64
  /// The change set's id, or zero if the instance has signed nothing yet.
  package let id: ChangeSetID
  /// When this device last signed something in the zone, as any instance, in milliseconds since 1970 by its own clock.
  /// 0 if it never did. Nil if it is unknown, because an earlier version saved the mark.
  package let signed: Int64?

  package init(instance: InstanceID, number: UInt64, id: ChangeSetID, signed: Int64?) {
    self.instance = instance
    self.number = number
    self.id = id
    self.signed = signed
  }
}

/// A device invite as its issuer saves it. The secret itself is not kept.
package struct IssuedInvite: Hashable, Sendable {
  /// The Ed25519 public key of the invite: 32 bytes. A claim proves that its device has the other half.
  package let publicHalf: [UInt8]
  /// When the invite expires, in milliseconds since 1970.
  package let expires: Int64
  /// The one device that it let in. The same device may claim it again, and gets the same certificate.
  package var usedBy: DeviceID?

  package init(publicHalf: [UInt8], expires: Int64, usedBy: DeviceID? = nil) {
    self.publicHalf = publicHalf
    self.expires = expires
    self.usedBy = usedBy
  }
}
