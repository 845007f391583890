import Foundation
import MeshCore
import MeshReplication

/// Stores keys of zones, high-water marks and issued invites in a home's files. Each file begins with a version byte. All
/// but the high-water marks (see `MarkFile`) are replaced durably as a whole.
///
/// Guard: owned by the node that has the home's lock.
final class HomeVault: Vault {
  private let home: Home
  private let marks: MarkFile
  private static let version: UInt8 = 1

  init(home: Home) { (self.home, marks) = (home, MarkFile(home: home)) }

  func epochKeys(_ zone: ZoneID) throws -> [EpochID: EpochKey] {
    var keys: [EpochID: EpochKey] = [:]
    try read(.zone(id: zone.description)) { (reader: inout ByteReader) throws(FormatError) in
      while !reader.isAtEnd {
        let epoch = try EpochID(from: &reader)
        keys[epoch] = EpochKey(try reader.raw(32))
      }
    }
    return keys
  }

  func saveEpochKeys(_ more: [EpochID: EpochKey], zone: ZoneID) throws {
    let keys = try epochKeys(zone).merging(more) { old, _ in old }
    try write(.zone(id: zone.description)) { writer in
      for (epoch, key) in keys.sorted(by: { $0.key < $1.key }) {
        epoch.write(to: &writer)
        writer.raw(key.bytes)
      }
    }
  }

  func zones() throws -> [String] { try home.zones() }

  func highWaterMark(_ zone: ZoneID) throws -> HighWaterMark? { try marks.read()[zone] }

  /// Returns whether this device has signed something, in whatever file.
  func hasSigned() throws -> Bool { try marks.read().values.contains { $0.number > 0 } }

  func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws {
    try marks.save(mark, of: zone)
  }

  // MARK: Place

  func isCopy() throws -> Bool {
    guard try home.exists(.place) else { return false }
    let known = try home.read(.place)
    // Earlier versions didn't note the time of creation.
    return try known != place(.current) && known != place(.withoutBirth)
  }

  func settle() throws {
    let place = try place(.current)
    guard try !home.exists(.place) || home.read(.place) != place else { return }
    try home.write(.place, place)
  }

  private enum PlaceVersion: UInt8 {
    case withoutBirth = 1
    case current = 2
  }

  /// Returns the location of the home. A key file is never written again. If its inode number, the time of its creation
  /// or the machine's id has changed, it was copied.
  private func place(_ version: PlaceVersion) throws -> [UInt8] {
    let identity = try home.identity(of: .deviceKey)
    var writer = ByteWriter()
    writer.byte(version.rawValue)
    writer.uint64(identity.number)
    writer.text(Self.machine)
    if version == .current { writer.uint64(UInt64(bitPattern: identity.birth)) }
    return writer.bytes
  }

  /// The systemd id of this installation, or an empty string if there is none.
  private static var machine: String {
    let text = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)
    return text.map { String($0.prefix(32)) } ?? ""
  }

  func deviceInvites() throws -> [IssuedInvite] {
    var invites: [IssuedInvite] = []
    try read(.deviceInvites) { (reader: inout ByteReader) throws(FormatError) in
      while !reader.isAtEnd {
        let publicHalf = try reader.raw(32)
        let expires = try reader.signedVarint()
        let isUsed = try reader.byte() == 1
        invites.append(
          IssuedInvite(publicHalf: publicHalf, expires: expires, usedBy: isUsed ? try DeviceID(from: &reader) : nil))
      }
    }
    return invites
  }

  func saveDeviceInvites(_ invites: [IssuedInvite]) throws {
    try write(.deviceInvites) { writer in
      for invite in invites {
        writer.raw(invite.publicHalf)
        writer.signedVarint(invite.expires)
        writer.byte(invite.usedBy == nil ? 0 : 1)
        invite.usedBy?.write(to: &writer)
      }
    }
  }

  private func read(_ file: HomeFile, _ body: (inout ByteReader) throws(FormatError) -> Void) throws {
    guard try home.exists(file) else { return }
    var reader = ByteReader(try home.read(file))
    do {
      guard try reader.byte() == Self.version else { throw FormatError.unknown("version") }
      try body(&reader)
    } catch {
      throw HomeError(.damaged, "\(home.path(of: file)) is damaged (\(error)): restore it from a backup of the home.")
    }
  }

  private func write(_ file: HomeFile, _ body: (inout ByteWriter) -> Void) throws {
    var writer = ByteWriter()
    writer.byte(Self.version)
    body(&writer)
    try home.write(file, writer.bytes)
  }
}
