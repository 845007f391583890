import MeshCore

/// Bytes of change sets that are stored and not merged: one account of them for each device, over its instances and zones, and
/// one for all.
struct WaitingQuota {
  private var devices: [DeviceID: Int64] = [:]
  private var all: Int64 = 0

  init(_ session: Session) throws {
    let waiting = try session.sql.all(
      """
      SELECT device, sum(waiting) FROM mesh_head JOIN mesh_author ON mesh_author.id = mesh_head.author
      WHERE waiting > 0 GROUP BY device
      """
    ) { (DeviceID($0.bytes(0)), $0.integer(1)) }
    for case (let device?, let bytes) in waiting {
      devices[device] = bytes
      all += bytes
    }
  }

  /// False where the device's share is full; and where all is full, unless the device has less than what is kept free for each.
  mutating func take(_ bytes: Int64, _ device: DeviceID) -> Bool {
    let own = (devices[device] ?? 0) + bytes
    guard own <= StoreLimits.waitingBytes,
      all + bytes <= StoreLimits.waitingBytesOfAll || own <= StoreLimits.waitingShare
    else { return false }
    devices[device] = own
    all += bytes
    return true
  }
}
