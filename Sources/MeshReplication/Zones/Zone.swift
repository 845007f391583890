import MeshCore

/// The state of one zone. Each part of the replica keeps what it knows of the zone in a value of its own.
struct Zone {
  private(set) var log: ZoneLog
  var news = ControlNews()
  var keys = ZoneKeys()
  var intake = ZoneIntake()
  var limits = ZoneLimits()
  var acknowledgements = AcknowledgementState()
  /// True if the file's instance must not be continued, and this device has no other left.
  private(set) var isBarred = false
  /// The heads of the log that other devices told since the start, the last ones of each.
  private var toldHeads: [DeviceID: [ControlID]] = [:]

  init(_ zone: ZoneID) { log = ZoneLog(zone) }

  /// The accounts that the records name.
  var people: ZonePeople { log.people }
  var state: ZoneState { log.state }

  mutating func insert(_ record: ControlRecord, _ cryptography: any Cryptography) { log.insert(record, cryptography) }
  mutating func removeLast(_ count: Int, _ cryptography: any Cryptography) { log.removeLast(count, cryptography) }
  mutating func bar(_ isBarred: Bool) { self.isBarred = isBarred }

  /// Reads the state, and returns the new epochs whose keys are missing here.
  mutating func read(_ accounts: Accounts, revision: Int, _ cryptography: any Cryptography) -> [EpochID] {
    let judged = log.read(accounts, revision: revision, cryptography)
    // It was counted by the former state.
    intake.forgetRoom()
    return keys.read(judged, of: state)
  }

  /// Adds keys that are stored.
  mutating func add(_ new: [EpochID: EpochKey]) { keys.add(new, of: state) }

  /// Adds the keys that arrived, once they are stored durably.
  mutating func addArrivedKeys() { keys.addArrived(of: state) }

  /// Notes which heads of the log another device has.
  mutating func told(_ heads: [ControlID], by device: DeviceID) { toldHeads[device] = heads }

  /// Returns whether the records that a device had when it last told its heads are here.
  func hasLog(of device: DeviceID) -> Bool { toldHeads[device]?.allSatisfy(log.contains) == true }

  /// True if the home has keys of epochs that the log lacks. The database was then restored from a copy, or the device
  /// died between storing a key and its record.
  var isOlderThanHome: Bool { keys.known.keys.contains { ControlID($0.bytes).map(log.contains) == false } }

  /// Returns whether a record can be valid after those that are here.
  func isSound(
    _ record: ControlRecord, _ accounts: Accounts, isLacking: Bool = false, _ cryptography: any Cryptography
  ) -> Bool {
    var people = people
    people.meet(record.act, cryptography)
    return record.isSound(people, accounts, isLacking: isLacking, cryptography)
  }
}
