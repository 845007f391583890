import MeshCore

/// Who this device writes as: an instance ends when its file was restored or copied, or its line forked, and another begins.
extension Replica {
  /// The author that local writes have in the zone, if it has begun.
  func author(_ zone: ZoneID) throws -> Author? {
    try store.instance(zone).map { Author(device: device, instance: $0) }
  }

  /// Nil where this device may not write, or lacks the key: local writes stay pending.
  func writer(_ id: ZoneID) throws -> ChangeSetWriter? {
    guard clockWatch.fault == nil, let zone = zones[id], mayWrite(zone), !zone.isBarred,
      let epoch = zone.writingEpoch, let key = zone.keys[epoch], let author = try writingAuthor(id, zone)
    else { return nil }
    return ChangeSetWriter(
      zone: id, author: author, citation: zone.state.citation(account.id), epoch: epoch, key: key, secrets: secrets,
      cryptography: cryptography)
  }

  /// Of the zones that this device may write and whose key it has.
  func writers() throws -> [ZoneID: ChangeSetWriter] {
    var writers: [ZoneID: ChangeSetWriter] = [:]
    for standing in standings where standing.mayWrite { writers[standing.zone] = try writer(standing.zone) }
    return writers
  }

  /// One that has no end: what was cut is taken back first.
  private func writingAuthor(_ id: ZoneID, _ zone: Zone) throws -> Author? {
    guard let author = try author(id) else { return try beginInstance(id) }
    // It has written nothing yet, and would cite another grant than the one that it was begun under.
    if let grant = zone.state.citation(account.id), !author.instance.isUnder(grant),
      try store.storedVector(id)[author] == 0
    {
      return try beginInstance(id)
    }
    guard zone.limits[author] != nil else { return author }
    // What is taken back was here when programs wrote what is pending, which goes with it. Else the cut is carried out first.
    guard zone.limits == zone.carriedOut else { return try store.takesBack(zone.limits, zone: id) ? author : nil }
    // That its account was lowered or had left is told where shares are.
    let isOrdinary = try zone.state.lostPermission(author, store.citations(id)[author]) != nil
    try renewInstance(id, because: isOrdinary ? nil : "what it wrote as instance \(author.instance) was cut")
    return try self.author(id)
  }

  /// Nil where this device has used up its instances, or its account the authors that it may have in another's zone.
  @discardableResult
  func beginInstance(_ zone: ZoneID) throws -> Author? {
    guard let state = zones[zone]?.state else { return nil }
    var room = AuthorRoom(try store.storedVector(zone), state, own: nil)
    guard room.take(device) == .room else { return nil }
    let random = randomness.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let grant = zones[zone]?.state.citation(account.id)
    let instance = grant.map { InstanceID(under: $0, random: UInt32(truncatingIfNeeded: random)) } ?? InstanceID(random)
    try store.beginInstance(instance, zone: zone)
    if let none = ChangeSetID([UInt8](repeating: 0, count: 32)) {
      try vault.saveHighWaterMark(HighWaterMark(instance: instance, number: 0, id: none), zone: zone)
    }
    return Author(device: device, instance: instance)
  }

  /// Local writes get a new instance from now on; where none is left, they stay pending.
  ///
  /// - Parameter reason: What a person should know of it.
  func renewInstance(_ id: ZoneID, because reason: String?) throws {
    let isBegun = try beginInstance(id) != nil
    zones[id]?.isBarred = !isBegun
    // Not before the start has loaded all of them.
    if !standings.isEmpty { try updateStandings() }
    if let reason { notify(isBegun ? "\(reason): this device writes on as a new instance" : reason) }
  }

  /// Why the file's instance must not be written on, if so.
  func reasonForNewInstance(_ id: ZoneID) throws -> String? {
    guard let author = try author(id) else { return nil }
    let stored = try store.storedVector(id)
    if stored.authors.contains(where: { $0.instance == author.instance && $0.device != device }) {
      return "the database was copied from another device"
    }
    guard let mark = try vault.highWaterMark(id) else {
      return stored[author] == 0 ? nil : "the database was last written by another home"
    }
    guard mark.instance == author.instance else {
      // Of an instance that this file never wrote as nobody knows here whether it was written as elsewhere.
      return "the database was last written by another home, or is older than this device's last instance"
    }
    // What was cut is not in the file any more, be it all of it.
    if try limit(author, id, store.citations(id)) != nil { return nil }
    guard stored[author] >= mark.number else {
      return "the database is older than this device's last change set: it was restored"
    }
    guard try mark.number == 0 || store.changeSetID(id, author, mark.number) == mark.id else {
      return "the database was last written by a copy of this home"
    }
    guard try stored[author] > 0 && vault.isCopy() else { return nil }
    return Self.copied
  }

  /// A process that died between a commit and its mark left change sets that the home does not know of. They are sent to whoever
  /// asks, so the mark comes first.
  func raiseMark(_ id: ZoneID) throws {
    guard let author = try author(id), let head = try store.storedHeads(id)[author],
      let mark = try vault.highWaterMark(id), mark.instance == author.instance, mark.number < head.number
    else { return }
    try vault.saveHighWaterMark(
      HighWaterMark(instance: author.instance, number: head.number, id: head.id), zone: id)
  }

  static let copied = "this home was copied from another place, or restored"

  /// A change set that this very device has signed, and this file never had. The caller has checked the signature.
  func meetOwn(_ author: Author, number: UInt64, stored: UInt64, _ id: ZoneID) throws {
    guard author.device == device, number > stored else { return }
    // A share that it had left, or was put out of, with what it wrote there.
    if let state = zones[id]?.state, state.owner != account.id, state.limit(ofUnknown: author) != nil { return }
    if try author == self.author(id) {
      try renewInstance(id, because: "the database is older than what this device has sent: it was restored")
    } else if stored == 0 {
      notify(
        "change sets came that this device signed and that this file does not have: the file or the home was restored, or a "
          + "copy of the home is at work")
    }
  }

  func notify(_ text: String) {
    guard !notices.contains(text), notices.count < Self.noticesKept else { return }
    notices.append(text)
    actions.append(.log(.warning, text))
  }

  /// More say nothing new.
  private static let noticesKept = 20
  static let noticesOfOthers = 10

  /// True where a slice of what a cut took back was signed again.
  func writeAgain(_ id: ZoneID, now: Moment) throws -> Bool {
    guard let zone = zones[id], zone.mayWriteAgain, zone.limits == zone.carriedOut,
      let writer = try writer(id), try store.pendingCount() == 0
    else { return false }
    let head: ChangeSetHead?
    do {
      owesNews = true
      head = try store.writeAgain(writer, now: now.wall)
      owesNews = false
    } catch is PendingWrites {
      databaseChanged()
      return true
    }
    zones[id]?.mayWriteAgain = head != nil
    guard let head else { return false }
    try announce(head, writer, now: now)
    return true
  }
}
