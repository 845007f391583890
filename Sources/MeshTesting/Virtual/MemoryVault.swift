public import MeshCore

/// A vault that outlives crashes of its node, as a disk does. Guard: used by one caller at a time.
public final class MemoryVault: Vault {
  private var keys: [ZoneID: [EpochID: EpochKey]] = [:]
  private var marks: [ZoneID: HighWaterMark] = [:]
  private var issued: [IssuedLink] = []
  /// The node dies when it next keeps a mark: after the commit that the mark is about, before anything is sent.
  var diesAtMark = false

  public init() {}

  public func epochKeys(_ zone: ZoneID) -> [EpochID: EpochKey] { keys[zone] ?? [:] }

  public func saveEpochKey(_ key: EpochKey, epoch: EpochID, zone: ZoneID) {
    if keys[zone]?[epoch] == nil { keys[zone, default: [:]][epoch] = key }
  }

  public func highWaterMark(_ zone: ZoneID) -> HighWaterMark? { marks[zone] }

  public func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws {
    if diesAtMark {
      diesAtMark = false
      throw SimulatedDeath()
    }
    marks[zone] = mark
  }

  public func links() -> [IssuedLink] { issued }
  public func saveLinks(_ links: [IssuedLink]) { issued = links }
}

/// A node was killed inside a call. Thrown by what stands for its machine, caught by the simulation only.
struct SimulatedDeath: Error {}
