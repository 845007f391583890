/// The bytes of assets that are downloaded at one time, counted for each device that wrote them into a record. Any
/// member may write assets that nobody ever provides, so no device's assets may hold up another's.
struct FetchRoom {
  private var total = 0
  private var used: [[UInt8]: Int] = [:]

  /// Counts bytes in the staging that belong to assets that are not requested now.
  mutating func occupy(_ bytes: Int, of device: [UInt8]) {
    guard bytes > 0 else { return }
    used[device, default: 0] += bytes
    total += bytes
  }

  /// Takes room for one more asset, and returns whether there was enough. Each device has room for one asset of any
  /// length. The files of the staging are sparse, so a chunk takes space only when it has arrived.
  mutating func take(_ size: Int, of device: [UInt8]) -> Bool {
    if let before = used[device] {
      guard before + size <= StoreLimits.stagedBytesOfDevice, total + size <= StoreLimits.stagedBytes else {
        return false
      }
    }
    used[device, default: 0] += size
    total += size
    return true
  }
}
