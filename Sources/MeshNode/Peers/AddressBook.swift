import Logging
import MeshControl
import MeshCore
import MeshReplication

/// The addresses of this node and of its peers: where it listens, which addresses it dials, and how that went.
final class AddressBook {
  struct DialState {
    fileprivate(set) var device: DeviceID?
    /// True if a node has answered there since the start, whether it admitted this one or not.
    fileprivate(set) var hasAnswered = false
    /// The time of the first attempt since the last session, in milliseconds since 1970.
    fileprivate(set) var triedSince: Int64?
    /// The time at which the last session ended, in milliseconds since 1970.
    fileprivate(set) var connectedUntil: Int64?
    fileprivate(set) var lastError: String?
    fileprivate var failures = FailedDials()
    /// The time at which the last attempt began.
    fileprivate var begun = ContinuousClock.now
    /// The time at which the last session or attempt ended.
    fileprivate var ended: ContinuousClock.Instant?
    /// True if that was a session, and no attempt was requested since.
    fileprivate var wasOpen = false
    /// True if the address must be dialled without further waiting.
    fileprivate var isRequested = false
  }

  /// The time between two attempts at an address whose device has nothing in common with this one, and knows that from
  /// a session. Another device may take over the address.
  private static let pauseWithoutPart = Duration.seconds(600)
  /// The time within which devices that dial this node return: the longest wait between two attempts.
  private static let reconnecting = Backoff.dial.last * 1.5

  /// The listening address, or nil while no daemon runs.
  private(set) var listening: HostPort?
  /// The state of each address that is dialled.
  private(set) var dials: [HostPort: DialState] = [:]
  private var known: KnownPeers
  /// The time until which formerly connected peers may still be returning.
  private var reconnected = ContinuousClock.now
  private let home: Home
  private let settings: Settings
  private let time: SystemTime
  private let logger: Logger

  init(home: Home, known: KnownPeers, settings: Settings, time: SystemTime, logger: Logger) {
    (self.home, self.known, self.settings, self.time, self.logger) = (home, known, settings, time, logger)
  }

  // MARK: This node

  func listens(on address: HostPort) {
    listening = address
    expectPeers()
  }

  /// Notes that devices that dial this node have had no time to connect.
  func expectPeers() { reconnected = .now + Self.reconnecting }

  /// True if the node started listening or opened its database again a moment ago.
  var isExpectingPeers: Bool { ContinuousClock.now < reconnected }

  /// Returns the addresses that an invite names.
  ///
  /// - Throws: A `Refusal` if no daemon runs.
  func toAdvertise() throws -> [String] {
    guard let listening else {
      throw Refusal(
        code: "daemon.needed", message: "an invite needs a running daemon to answer it: start one with mesh serve.",
        exit: .daemonNeeded)
    }
    return LocalAddresses.toAdvertise(listening, configured: settings.configuration.advertise)
  }

  // MARK: Peers

  /// The addresses from `config.toml`, and those from joining.
  var wanted: [HostPort] {
    let configured = settings.configuration.peers
    return configured + known.dialled.filter { !configured.contains($0) }
  }

  /// Returns the device that was last met at an address, in this run or in an earlier one.
  func device(at address: HostPort) -> DeviceID? { dials[address]?.device ?? known.device(at: address) }

  /// Returns whether to dial an address. If its device already has a session, it isn't dialled.
  func shouldDial(_ address: HostPort, _ replica: Replica) -> Bool {
    guard wanted.contains(address) else { return false }
    if let device = dials[address]?.device, replica.peerViews.all.contains(where: { $0.device == device }) {
      return false
    }
    // A device that was off has not heard yet that this account left its share.
    guard !mayAnswer(address, replica), let dial = dials[address], dial.wasOpen, let ended = dial.ended else {
      return true
    }
    return dial.isRequested || ContinuousClock.now - ended > Self.pauseWithoutPart
  }

  /// Returns whether the device at an address may have something in common with this one. It is not known before the
  /// first session. Nothing waits for other addresses, and no list has them.
  func mayAnswer(_ address: HostPort, _ replica: Replica) -> Bool {
    device(at: address).map { !Devices(replica).hasNoPart($0) } ?? true
  }

  /// Forgets the addresses of revoked devices. Those in `config.toml` stay, because another device may take them over.
  func forgetRevoked(_ replica: Replica) {
    let devices = Devices(replica)
    let gone = known.dialled.filter { address in
      !settings.configuration.peers.contains(address) && device(at: address).map(devices.isRevoked) ?? false
    }
    guard !gone.isEmpty else { return }
    for address in gone { dials[address] = nil }
    changeKnown { for address in gone { $0.forget(address) } }
  }

  /// Requests an early attempt, because the reason for the earlier failures is over.
  func dialSoon(_ addresses: [HostPort]) {
    for address in addresses { dials[address, default: DialState()].isRequested = true }
  }

  /// Requests an early attempt at each awaited address without a session.
  func dialSoon(_ replica: Replica) {
    dialSoon(wanted.filter { mayAnswer($0, replica) && shouldDial($0, replica) })
  }

  /// Returns true once for each call of `dialSoon`. The pauses are short again.
  func takeRequest(for address: HostPort) -> Bool {
    guard dials[address]?.isRequested == true else { return false }
    dials[address]?.isRequested = false
    dials[address]?.failures = FailedDials()
    dials[address]?.wasOpen = false
    return true
  }

  func dialBegins(_ address: HostPort) {
    dials[address, default: DialState()].isRequested = false
    dials[address]?.begun = .now
    if dials[address]?.triedSince == nil { dials[address]?.triedSince = time.milliseconds() }
  }

  /// Notes the end of a session, or of an attempt without one. Returns the pause before the next attempt.
  func dialEnded(_ address: HostPort, _ end: ConnectionEnd) -> Duration {
    // A forgotten address has no state any more.
    guard var dial = dials[address] else { return Beat.interval }
    let wasOpen = dial.triedSince == nil
    let isLost = end.goodbye == nil || end.goodbye == .stopping
    dial.failures.note(wasOpen ? isLost ? .lost : .refused : .failed, after: .now - dial.begun)
    dial.lastError = end.reason
    (dial.ended, dial.wasOpen) = (.now, wasOpen)
    if wasOpen { dial.connectedUntil = time.milliseconds() }
    dials[address] = dial
    return dial.failures.pause
  }

  func answered(_ address: HostPort) { dials[address, default: DialState()].hasAnswered = true }

  func met(_ device: DeviceID, at address: HostPort) {
    dials[address, default: DialState()].device = device
    dials[address]?.lastError = nil
    dials[address]?.triedSince = nil
    if known.device(at: address) != device { changeKnown { $0.met(device, at: address) } }
  }

  /// Makes the node dial addresses from now on.
  func remember(_ addresses: [HostPort]) {
    dialSoon(addresses)
    let new = addresses.filter { !wanted.contains($0) }
    if !new.isEmpty { changeKnown { for address in new { $0.dial(address) } } }
  }

  private func changeKnown(_ change: (inout KnownPeers) -> Void) {
    change(&known)
    do {
      try home.write(known)
    } catch {
      logger.warning("\(home.path(of: .peers)) can't be written: \(error)")
    }
  }
}
