public import MeshCore

/// A vault that survives crashes of its node, as a home's files do. One caller at a time uses it.
public final class MemoryVault: Vault {
  /// The contents of the home's files. A copy of a home is a copy of this.
  struct Contents {
    var keys: [ZoneID: [EpochID: EpochKey]] = [:]
    var marks: [ZoneID: HighWaterMark] = [:]
    var links: [IssuedLink] = []
  }

  var contents = Contents()
  /// Called before and after each change. If it throws, the machine died at that point.
  var step: (() throws -> Void)?
  /// Called after each change, to count changes.
  public var onChange: (() -> Void)?
  /// True if the node dies when it next saves a mark: after the commit that the mark describes, and before anything is
  /// sent.
  var diesAtMark = false

  /// True if it was copied from another place, and no node has run on it here.
  public var isFromElsewhere = false

  public init() {}

  public func isCopy() -> Bool { isFromElsewhere }
  public func settle() { isFromElsewhere = false }

  /// Returns a copy, as of a home that is copied.
  public func copy() -> MemoryVault {
    let copy = MemoryVault()
    copy.contents = contents
    copy.isFromElsewhere = true
    return copy
  }

  public func epochKeys(_ zone: ZoneID) -> [EpochID: EpochKey] { contents.keys[zone] ?? [:] }

  public func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws {
    try change { $0.keys[zone, default: [:]].merge(keys) { old, _ in old } }
  }

  public func zones() -> [String] { contents.keys.keys.map(\.description) }

  public func highWaterMark(_ zone: ZoneID) -> HighWaterMark? { contents.marks[zone] }

  public func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws {
    if diesAtMark {
      diesAtMark = false
      throw SimulatedDeath()
    }
    try change { $0.marks[zone] = mark }
  }

  public func links() -> [IssuedLink] { contents.links }
  public func saveLinks(_ links: [IssuedLink]) throws { try change { $0.links = links } }

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
