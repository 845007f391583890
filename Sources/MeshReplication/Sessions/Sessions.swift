import MeshCore

/// The sessions with peers. It sends their messages, and runs their state machines.
final class Sessions {
  /// The bytes of change sets in one message: large enough to keep the connection busy, but small beside the window.
  private static let batchBytes = 256 << 10
  /// The milliseconds between two questions to a peer about a zone.
  private static let askingInterval: Int64 = 300

  private let device: DeviceID
  private let log: any LogStore
  private let outbox: Outbox
  private var sessions: [LinkID: Session] = [:]
  /// The sessions whose peers have proven nothing yet.
  private var unmet: Set<LinkID> = []
  /// The sessions that peers opened whose devices aren't known yet.
  private(set) var unnamed: Set<LinkID> = []
  /// Sessions that end because their device has another session, until they are closed.
  private var replaced: [LinkID: DeviceID] = [:]
  /// The last questions for missing change sets.
  private var questions: [LinkID: Questions] = [:]
  /// Is told of each session that ended, with the device at its other end if it is known.
  var whenEnded: (LinkID, DeviceID?) -> Void = { _, _ in }

  private struct Questions {
    /// The time at which the peer was last asked, by zone, in milliseconds of the steady clock.
    var asked: [ZoneID: Int64] = [:]
    /// The zones about which the peer is asked again later.
    var owed: Set<ZoneID> = []
  }

  init(_ device: DeviceID, _ log: any LogStore, _ outbox: Outbox) {
    (self.device, self.log, self.outbox) = (device, log, outbox)
  }

  /// A session's state. Only sessions that exist can be changed.
  subscript(_ link: LinkID) -> Session? {
    get { sessions[link] }
    _modify { yield &sessions[link] }
  }

  var count: Int { sessions.count }
  var values: some Collection<Session> { sessions.values }
  /// The sessions in order.
  var links: [LinkID] { sessions.keys.sorted() }
  var sorted: [(link: LinkID, session: Session)] { sessions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
  /// The sessions whose peers are admitted, in order.
  var openLinks: [LinkID] { links.filter { sessions[$0]?.machine.isOpen == true } }

  /// Returns the sessions whose peers get the news of a zone's log: those that share it, and the other devices of this
  /// account.
  func links(hearing zone: ZoneID, _ account: AccountID) -> [LinkID] {
    openLinks.filter { isCommon(zone, $0) || sessions[$0]?.peer?.account == account }
  }

  /// Returns the open sessions that share the zone, in order.
  func links(sharing zone: ZoneID) -> [LinkID] { links.filter { isCommon(zone, $0) } }

  /// Returns whether a zone is in common with the peer. Statements about other zones are not kept, because a peer can
  /// name any number of them.
  func isCommon(_ zone: ZoneID, _ link: LinkID) -> Bool {
    sessions[link]?.machine.shares(zone) ?? false
  }

  /// Returns the device at the other end of a session that is open, or that ends because the device has another one.
  func device(at link: LinkID) -> DeviceID? {
    guard let session = sessions[link], session.machine.isOpen else { return replaced[link] }
    return session.peer?.device
  }

  /// True if a session waits for one of the next ticks.
  var needsTick: Bool {
    sessions.contains { link, session in
      !session.machine.isOpen || !session.control.owedHeads.isEmpty || questions[link]?.owed.isEmpty == false
        || !session.outflow.isEmpty || !session.outflow.asked.isEmpty || session.machine.isMissingAnnounced
    }
  }

  // MARK: Beginning and end

  func open(_ link: LinkID, _ info: LinkInfo, now: Moment) {
    sessions[link] = Session(info, device, now: now)
    unmet.insert(link)
    if info.role == .listener { unnamed.insert(link) }
  }

  /// Notes what a peer has proven about itself.
  func identify(_ link: LinkID, _ identity: Session.Identity) {
    sessions[link]?.identify(identity)
    unmet.remove(link)
    if sessions[link]?.peer != nil { unnamed.remove(link) }
  }

  /// Returns whether the peer has proven its identity or that it has an invite.
  func hasMet(_ link: LinkID) -> Bool { sessions.index(forKey: link) != nil && !unmet.contains(link) }

  /// Says goodbye and closes a session.
  func end(_ link: LinkID, _ code: Message.Goodbye, _ text: String) {
    guard sessions[link] != nil, let session = remove(link) else { return }
    send(link, .goodbye(code, text: text))
    outbox.add(.close(link, SessionEnd(code: code, text: text, isFromPeer: false)))
    outbox.log(.info, "closing the session with \(session.name): \(text)")
  }

  /// Ends a session whose device has another one that stays.
  func replace(_ link: LinkID, of device: DeviceID) {
    replaced[link] = device
    end(link, .replaced, "another session with this device is open")
  }

  /// Closes a session because the peer said goodbye.
  func peerEnded(_ link: LinkID, _ code: Message.Goodbye, _ text: String) {
    let name = remove(link)?.name ?? "a peer"
    let end = SessionEnd(code: code, text: printable(text), isFromPeer: true)
    outbox.add(.close(link, end))
    outbox.log(.info, "\(name) closed the session: \(end.text)")
  }

  func closed(_ link: LinkID) {
    remove(link)
    replaced[link] = nil
  }

  @discardableResult
  private func remove(_ link: LinkID) -> Session? {
    let session = sessions.removeValue(forKey: link)
    if let zones = session?.machine.commonZones, !zones.isEmpty {
      for other in sessions.keys { sessions[other]?.noteParting(zones) }
    }
    unmet.remove(link)
    unnamed.remove(link)
    questions[link] = nil
    whenEnded(link, session?.peer?.device)
    return session
  }

  // MARK: Messages

  func send(_ link: LinkID, _ message: Message) { send([link], message) }

  func send(_ links: [LinkID], _ message: Message) {
    let bytes = message.encoded
    for link in links {
      sessions[link]?.outflow.add(bytes.count)
      outbox.add(.send(link, bytes))
    }
  }

  /// Returns the actions that the driver performs. From here on, it knows how many bytes wait to leave, and reports
  /// them.
  func takeActions() -> [ReplicaAction] {
    let actions = outbox.take()
    for case .send(let link, _) in actions { sessions[link]?.outflow.note(queued: 0) }
    return actions
  }

  // MARK: State machines

  /// Hands an input to a session's state machine, and does what the machine asks for.
  ///
  /// - Returns: The peer's message, if the parts of the replica have to handle it.
  @discardableResult
  func handle(_ link: LinkID, _ input: SessionStateMachine.Input, now: Moment) throws -> Message? {
    guard let outputs = sessions[link]?.handle(input, now: now) else { return nil }
    var delivered: Message?
    for output in outputs {
      switch output {
      case .send(let message):
        send(link, message)
      case .sayMerged(let zone, let isAll):
        let merged = try log.mergedVector(zone)
        send(link, isAll ? .upToDate(zone, merged) : .have(zone, merged))
      case .deliver(let message):
        delivered = message
      case .read(let zone, let beyond, let devices, let after):
        let batch = try log.changeSets(
          zone, beyond: beyond, of: devices, after: after, maximumBytes: Self.batchBytes)
        try handle(link, .batch(zone, batch), now: now)
      case .check(let zone, let announced, let isLate):
        try check(link, zone, announced, isLate: isLate, now: now)
      case .end(let code, let text):
        end(link, code, text)
      }
    }
    return delivered
  }

  /// Asks for announced change sets that are missing, unless they probably come anyway: their authors push them to this
  /// node, or it has just asked another peer.
  private func check(_ link: LinkID, _ zone: ZoneID, _ announced: VersionVector, isLate: Bool, now: Moment) throws {
    let stored = try log.storedVector(zone)
    let missing = announced.authors(beyond: stored)
    guard !missing.isEmpty else { return }
    let hasAsked = questions.values.contains {
      $0.asked[zone].map { now.steady &- $0 < SessionStateMachine.graftAfter } ?? false
    }
    let pushing = Set(links(sharing: zone).compactMap { sessions[$0]?.peer?.device })
    if isLate || !hasAsked && !missing.allSatisfy({ pushing.contains($0.device) }) {
      try ask(link, zone, isAnnounced: true, now: now)
    } else {
      try handle(link, .missing(zone, announced: announced), now: now)
    }
  }

  /// Keeps a session alive while its next message waits for another program's lock.
  func keepWaiting(_ link: LinkID, now: Moment) {
    for case .send(let message) in sessions[link]?.handle(.waiting, now: now) ?? [] {
      send(link, message)
    }
  }

  /// Asks a peer for the change sets of a zone that are not here, at most once in `askingInterval`. The question names
  /// all authors, and to answer it, the peer reads its log from the beginning.
  ///
  /// - Parameter isAnnounced: True if the peer has announced them.
  func ask(_ link: LinkID, _ zone: ZoneID, isAnnounced: Bool = false, now: Moment) throws {
    // The peer may have left the zone since the question was postponed.
    guard isCommon(zone, link) else {
      questions[link]?.owed.remove(zone)
      return
    }
    if let last = questions[link]?.asked[zone], now.steady &- last < Self.askingInterval {
      questions[link]?.owed.insert(zone)
      return
    }
    questions[link]?.owed.remove(zone)
    questions[link, default: Questions()].asked[zone] = now.steady
    try handle(link, .lacking(zone, stored: try log.storedVector(zone), isAnnounced: isAnnounced), now: now)
  }

  func ask(_ links: [LinkID], _ zone: ZoneID, now: Moment) throws {
    for link in links { try ask(link, zone, now: now) }
  }

  /// Asks the questions that were postponed.
  func askOwed(_ link: LinkID, now: Moment) throws {
    for zone in questions[link]?.owed.sorted() ?? [] { try ask(link, zone, now: now) }
  }
}
