import MeshCore

/// The state of a zone's change sets that arrived and are not merged.
struct ZoneIntake {
  /// The number of change sets that are stored and not merged, by reason, as of the last attempt.
  private(set) var waiting: [WaitingReason: Int] = [:]
  /// True if change sets are missing that were refused or cut, and may be valid now or later.
  private(set) var hasRefused = false
  /// The room for new authors, if it is counted. It is counted again when another number of authors is stored.
  private var room: AuthorRoom?
  /// Authors of which a peer has another branch. The change sets that follow there are not requested.
  private var forked: Set<Author> = []
  /// Authors whose waiting change sets reached their bound. The rest is requested after something was merged.
  private var overQuota: Set<Author> = []

  mutating func note(waiting: [WaitingReason: Int]) { self.waiting = waiting }
  mutating func noteRefused() { hasRefused = true }

  /// Returns whether change sets were refused, and begins again.
  mutating func takeRefused() -> Bool {
    defer { hasRefused = false }
    return hasRefused
  }

  /// Returns the room as it was left. As long as two variables have it, a change copies all counts.
  mutating func takeRoom() -> AuthorRoom? {
    defer { room = nil }
    return room
  }

  mutating func leave(_ room: AuthorRoom) { self.room = room }
  mutating func forgetRoom() { room = nil }

  mutating func note(forked author: Author) { forked.insert(author) }
  mutating func forgetForks() { forked = [] }
  mutating func note(overQuota author: Author) { overQuota.insert(author) }

  /// Returns whether authors had reached their bound, and begins again.
  mutating func takeOverQuota() -> Bool {
    defer { overQuota = [] }
    return !overQuota.isEmpty
  }

  /// Returns whether another request for the author's change sets would only bring the same ones again.
  func isStuck(_ author: Author) -> Bool { forked.contains(author) || overQuota.contains(author) }
}
