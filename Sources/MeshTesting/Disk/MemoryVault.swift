package import MeshCore

/// A vault that survives crashes of its node, as a home's files do. One caller at a time uses it.
package final class MemoryVault: Vault {
  /// The contents of the home's files. A copy of a home is a copy of this.
  struct Contents {
    var keys: [ZoneID: [EpochID: EpochKey]] = [:]
    var marks: [ZoneID: HighWaterMark] = [:]
    var deviceInvites: [IssuedInvite] = []
  }

  var contents = Contents()
  /// Called before and after each change. If it throws, the machine died at that point.
  var step: (() throws -> Void)?
  /// Called after each change, to count changes.
  package var onChange: (() -> Void)?
  /// True if the node dies when it next saves a mark: after the commit that the mark describes, and before anything is
  /// sent.
  var diesAtMark = false

  /// True if it was copied from another place, and no node has run on it here.
  package var isFromElsewhere = false

  package init() {}

  package func isCopy() -> Bool { isFromElsewhere }
  package func settle() { isFromElsewhere = false }

  /// Returns a copy, as of a home that is copied.
  package func copy() -> MemoryVault {
    let copy = MemoryVault()
    copy.contents = contents
    copy.isFromElsewhere = true
    return copy
  }

  package func epochKeys(_ zone: ZoneID) -> [EpochID: EpochKey] { contents.keys[zone] ?? [:] }

  package func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws {
    try change { $0.keys[zone, default: [:]].merge(keys) { old, _ in old } }
  }

  package func zones() -> [String] { contents.keys.keys.map(\.description) }

  package func highWaterMark(_ zone: ZoneID) -> HighWaterMark? { contents.marks[zone] }

  package func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws {
    if diesAtMark {
      diesAtMark = false
      throw SimulatedDeath()
    }
    try change { $0.marks[zone] = mark }
  }

  package func deviceInvites() -> [IssuedInvite] { contents.deviceInvites }
  package func saveDeviceInvites(_ deviceInvites: [IssuedInvite]) throws {
    try change { $0.deviceInvites = deviceInvites }
  }

  /// Replaces a file as a whole and syncs it. The file is either the old one or the new one.
  private func change(_ body: (inout Contents) -> Void) throws {
    try step?()
    body(&contents)
    onChange?()
    try step?()
  }
}

/// The error that a node was killed inside a call. The objects that stand for its machine throw it, and only the
/// simulation catches it.
struct SimulatedDeath: Error {}
