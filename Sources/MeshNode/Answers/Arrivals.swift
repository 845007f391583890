/// Tells which devices still send something, so that a command waits for no others.
///
/// A device may say that it has changes and never send them. So a command waits for a device only while it sends
/// some.
struct Arrivals {
  /// The time without an arrival after which a device is not waited for. A device that has just been dialled needs a
  /// part of it to begin.
  static let patience = Duration.seconds(3)

  private var last: [String: (count: UInt64, at: ContinuousClock.Instant)] = [:]

  /// Notes what a device has sent at this look.
  ///
  /// - Parameter count: The number of change sets that the device has sent in its session. A new session begins at zero,
  ///   which is no arrival.
  /// - Returns: True if it has sent nothing for a while.
  mutating func look(_ device: String, count: UInt64, now: ContinuousClock.Instant) -> Bool {
    guard let known = last[device], count <= known.count else {
      last[device] = (count, now)
      return false
    }
    return now - known.at >= Self.patience
  }
}
