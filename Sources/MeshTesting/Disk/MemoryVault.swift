public import MeshCore

/// A vault that outlives crashes of its node, as a home's files do. Guard: used by one caller at a time.
public final class MemoryVault: Vault {
  /// What the files say: a copy of a home is a copy of this.
  struct Contents {
    var keys: [ZoneID: [EpochID: EpochKey]] = [:]
    var marks: [ZoneID: HighWaterMark] = [:]
    var links: [IssuedLink] = []
  }

  var contents = Contents()
  /// Called before and after each change; where it throws, the machine has died there.
  var step: (() throws -> Void)?
  /// Called after each change, to count them.
  public var onChange: (() -> Void)?
  /// The node dies when it next keeps a mark: after the commit that the mark is about, before anything is sent.
  var diesAtMark = false

  /// It was copied from another place, and no node has run on it here.
  public var isFromElsewhere = false

  public init() {}

  public func isCopy() -> Bool { isFromElsewhere }
  public func settle() { isFromElsewhere = false }

  /// As a home that is copied.
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

  /// A file replaced as a whole and synced: it is the old one or the new one.
  private func change(_ body: (inout Contents) -> Void) throws {
    try step?()
    body(&contents)
    onChange?()
    try step?()
  }
}

/// A node was killed inside a call. Thrown by what stands for its machine, caught by the simulation only.
struct SimulatedDeath: Error {}
