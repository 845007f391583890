/// How many bytes of whose assets are fetched at one time. Assets come from whoever wrote them into a record, and any member may
/// write some that nobody ever gives: no device's keep back another's.
struct FetchRoom {
  private var total = 0
  private var used: [[UInt8]: Int] = [:]

  /// What is in the staging already of assets that are not asked for now.
  mutating func occupy(_ bytes: Int, of device: [UInt8]) {
    guard bytes > 0 else { return }
    used[device, default: 0] += bytes
    total += bytes
  }

  /// True where there is room for one more, which is taken then. Each device has room for one, however long it is: the staging's
  /// files are sparse, and a chunk takes room when it has come.
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
