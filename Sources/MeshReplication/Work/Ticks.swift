import MeshCore

/// The work that depends on the time: a tick does it a few times a second, and a round every few seconds.
final class Ticks: Part {
  /// The milliseconds between two requests for missing keys, and other work that is due now and then.
  private static let roundInterval: Int64 = 5_000

  let context: Context
  private let clocks: Clocks
  private let standings: StandingBook
  private let logs: ControlLogs
  private let keys: KeyRing
  private let acknowledgements: Acknowledgements
  private let membership: Membership
  private let changes: ControlChanges
  private let localWrites: LocalWrites
  private let copies: AssetCopies
  private let downloads: AssetDownloads
  private let administration: Administration
  private let admission: ShareAdmission
  private let greeting: Greeting
  /// True if the home knows its place. This stays false until the node runs, because a command that only looks at the
  /// home must leave the notice to the node.
  private var hasSettled = false
  private var lastRound: Int64 = .min

  init(
    _ context: Context, clocks: Clocks, standings: StandingBook, logs: ControlLogs, keys: KeyRing,
    acknowledgements: Acknowledgements, membership: Membership, changes: ControlChanges, localWrites: LocalWrites,
    copies: AssetCopies, downloads: AssetDownloads, administration: Administration, admission: ShareAdmission,
    greeting: Greeting
  ) {
    self.context = context
    self.clocks = clocks
    self.standings = standings
    self.logs = logs
    self.keys = keys
    self.acknowledgements = acknowledgements
    self.membership = membership
    self.changes = changes
    self.localWrites = localWrites
    self.copies = copies
    self.downloads = downloads
    self.administration = administration
    self.admission = admission
    self.greeting = greeting
  }

  /// Returns whether something waits for one of the next ticks. Without it, two ticks a second are enough.
  var isNeeded: Bool {
    downloads.needsTick || copies.needsTick || localWrites.needsTick || standings.isDropping || changes.hasUnread
      || zones.values.contains(where: \.acknowledgements.isOwed) || sessions.needsTick
  }

  /// Does the periodic work. The driver calls it a few times a second.
  func tick(now: Moment) throws {
    if !hasSettled { try vault.settle() }
    hasSettled = true
    clocks.look(now)
    // This comes first, so that nothing is told to participants after they are out.
    try localWrites.endDeletedShares(now: now)
    try keys.tick()
    for link in sessions.links { try sessions.handle(link, .tick, now: now) }
    for link in sessions.links {
      logs.tellOwedHeads(link, now: now)
      try sessions.askOwed(link, now: now)
      try logs.sendAsked(link, now: now)
      try logs.pour(link)
    }
    try acknowledgements.tick(now: now)
    membership.endOutsiders(now: now)
    try downloads.tick(now: now)
    try standings.endPostponed()
    clocks.tell(now)
    if now.steady &- lastRound > Self.roundInterval || lastRound == .min {
      lastRound = now.steady
      try tickRound(now: now)
    }
  }

  private func tickRound(now: Moment) throws {
    // The wanted assets change in other ways too: a zone ended, or reverted change sets were written again.
    try downloads.refresh(now: now)
    for link in sessions.links { keys.requestAgain(link) }
    changes.forgetUnused(now: now)
    logs.forgetUnused(now: now)
    admission.forgetUnused(now: now)
    greeting.forgetUnused(now: now)
    try administration.cutRevokedDevices(now: now)
    for zone in zones.ids { try keys.replaceMissing(zone, now: now) }
    // No input arrives when the clock has caught up with change sets that were signed ahead of it.
    due.noteMerges(zones.ids.filter { zones[$0]?.intake.waiting[.futureTime] != nil })
  }
}
