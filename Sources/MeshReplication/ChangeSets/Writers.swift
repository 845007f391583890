import MeshCore

/// Chooses the author as which this device writes. An instance ends when its file was restored or copied, or when its
/// log forked. Then another begins.
struct Writers: Part {
  let context: Context
  let clocks: Clocks
  let standings: StandingBook
  let cutoffs: Cutoffs

  /// Returns the author of local writes in the zone, if it has begun.
  func author(_ zone: ZoneID) throws -> Author? {
    try store.zones.instance(zone).map { Author(device: device, instance: $0) }
  }

  /// Makes a zone's writer ready, with a new instance if one is due. Returns nil if this device may not write or the key
  /// is missing. Then local writes stay pending.
  func prepare(_ id: ZoneID) throws -> ChangeSetWriter? {
    guard clocks.fault == nil, let zone = zones[id], mayWrite(zone), !zone.isBarred,
      let (epoch, key) = zone.keys.writingKey, let author = try prepareAuthor(id, zone)
    else { return nil }
    return ChangeSetWriter(
      zone: id, author: author, citation: zone.state.citation(account.id), epoch: epoch, key: key, secrets: secrets,
      cryptography: cryptography)
  }

  /// Makes the writers ready for the zones that this device may write and whose keys are here. There are none until the
  /// private zone is known, because rows that no share has belong there.
  func prepare() throws -> [ZoneID: ChangeSetWriter] {
    guard standings.hasPrivateZone else { return [:] }
    var writers: [ZoneID: ChangeSetWriter] = [:]
    for standing in standings.standings where standing.mayWrite { writers[standing.zone] = try prepare(standing.zone) }
    return writers
  }

  /// Chooses an author that has no end, and begins one if necessary. Reverted change sets are handled first.
  private func prepareAuthor(_ id: ZoneID, _ zone: Zone) throws -> Author? {
    guard let author = try author(id) else {
      if let begun = try beginInstance(id) { return begun }
      zones[id]?.bar(true)
      try standings.update()
      return nil
    }
    // The author has written nothing yet, and would cite another grant than the one under which it began.
    if let grant = zone.state.citation(account.id), !author.instance.isUnder(grant),
      try store.log.storedVector(id)[author] == 0
    {
      return try beginInstance(id)
    }
    guard zone.limits.current[author] != nil else { return author }
    // The change sets to revert were here when programs wrote the pending rows, which are reverted with them. Otherwise
    // the cut is carried out first.
    guard zone.limits.areCarriedOut else {
      return try store.merges.isRevertDue(zone.limits.current, zone: id) ? author : nil
    }
    // The share's status already tells that the account's permission was lowered or that it had left.
    let isOrdinary = try zone.state.lostPermission(author, store.log.citations(id)[author]) != nil
    try renewInstance(id, because: isOrdinary ? nil : "what it wrote as instance \(author.instance) was cut")
    return try self.author(id)
  }

  /// Begins a new instance. Returns nil if this device has used up its instances, or if its account has used up its
  /// authors in another account's zone.
  ///
  /// - Parameter other: The other file that may have been written as the former instance, if there is one.
  private func beginInstance(_ zone: ZoneID, besides other: OtherFile? = nil) throws -> Author? {
    guard let state = zones[zone]?.state else { return nil }
    var known = try store.log.storedVector(zone)
    // An account that joins again begins with an empty log.
    for author in zones[zone]?.departedAuthors ?? [] where known[author] == 0 { known[author] = 1 }
    var room = AuthorRoom(known, state, own: nil)
    guard room.take(device) == .room else { return nil }
    let random = randomness.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let grant = zones[zone]?.state.citation(account.id)
    let instance = grant.map { InstanceID(under: $0, random: UInt32(truncatingIfNeeded: random)) } ?? InstanceID(random)
    try store.zones.beginInstance(instance, zone: zone, sentThrough: other.map { $0.signed ?? .max })
    if let none = ChangeSetID([UInt8](repeating: 0, count: 32)) {
      let mark = try vault.highWaterMark(zone)
      let signed = mark == nil ? 0 : mark?.signed
      try vault.saveHighWaterMark(HighWaterMark(instance: instance, number: 0, id: none, signed: signed), zone: zone)
    }
    return Author(device: device, instance: instance)
  }

  /// Names the records with increments of which nobody here can know whether another file has sent them.
  private func nameDoubtfulIncrements(_ id: ZoneID) throws {
    let counted = try store.zones.doubtfulIncrements(id)
    guard !counted.isEmpty else { return }
    let names = counted.prefix(Self.namedRecords).map {
      "\(printable($0.table)) \(printable($0.key.literal, limit: 100))"
    }
    let more = counted.count > names.count ? ", and \(counted.count - names.count) more" : ""
    incidents.notify(
      "programs had counted in rows of this file, and the file of which it is a copy may have sent that too, so it counts "
        + "once: if programs counted in both files since, compare \(names.joined(separator: ", "))\(more)")
  }

  /// The maximum number of records that a sentence names.
  private static let namedRecords = 8

  /// Makes local writes use a new instance from now on. If none is left, they stay pending.
  ///
  /// - Parameters:
  ///   - reason: The reason to show to a person, or nil to show nothing.
  ///   - other: The other file that may have been written as the former instance, if there is one.
  func renewInstance(_ id: ZoneID, because reason: String?, besides other: OtherFile? = nil) throws {
    probe?(.instanceRenewed)
    let isBegun = try beginInstance(id, besides: other) != nil
    zones[id]?.bar(!isBegun)
    // During the start, the standings are updated after all zones are loaded.
    if !standings.standings.isEmpty { try standings.update() }
    if let reason { incidents.notify(isBegun ? "\(reason): this device writes on as a new instance" : reason) }
    if other != nil { try nameDoubtfulIncrements(id) }
  }

  /// Continues the instance of a zone that was loaded, or begins another.
  func load(_ id: ZoneID) throws {
    if let other = try otherFile(id) {
      try renewInstance(id, because: other.reason, besides: other)
    } else {
      if try vault.isCopy() { incidents.notify(Self.copied) }
      try raiseMark(id)
      // A command that opened the home before may have begun the instance.
      try nameDoubtfulIncrements(id)
    }
  }

  /// Another file that was written as this file's instance, or may have been. So this file must not continue it.
  struct OtherFile {
    let reason: String
    /// When the instance last signed something, in milliseconds since 1970. Nil if only another home can know it.
    let signed: Int64?
  }

  /// Returns the other file because of which this file's instance must not be continued, or nil if it may be.
  func otherFile(_ id: ZoneID) throws -> OtherFile? {
    guard let author = try author(id) else { return nil }
    let stored = try store.log.storedVector(id)
    if stored.authors.contains(where: { $0.instance == author.instance && $0.device != device }) {
      return OtherFile(reason: "the database was copied from another device", signed: nil)
    }
    guard let mark = try vault.highWaterMark(id) else {
      return stored[author] == 0 ? nil : OtherFile(reason: "the database was last written by another home", signed: nil)
    }
    let signed = try vault.isCopy() ? nil : mark.signed
    guard mark.instance == author.instance else {
      // The file never wrote as the home's last instance, so it is unknown here whether another file did.
      return OtherFile(
        reason: "the database was last written by another home, or is older than this device's last instance",
        signed: signed)
    }
    // Change sets that were cut are no longer in the file, even if all of them were cut.
    if try cutoffs.limit(author, id) != nil { return nil }
    guard stored[author] >= mark.number else {
      return OtherFile(
        reason: "the database was restored from a copy", signed: signed)
    }
    guard try mark.number == 0 || store.log.changeSetID(id, author, mark.number) == mark.id else {
      return OtherFile(reason: "the database was last written by a copy of this home", signed: nil)
    }
    guard try stored[author] > 0 && vault.isCopy() else { return nil }
    return OtherFile(reason: Self.copied, signed: nil)
  }

  /// Raises the home's mark to the last stored change set. A process that died between a commit and its mark left
  /// change sets that the home doesn't know. They are sent to any peer that asks, so the mark is raised first.
  private func raiseMark(_ id: ZoneID) throws {
    guard let author = try author(id), let head = try store.log.storedTips(id)[author],
      let mark = try vault.highWaterMark(id), mark.instance == author.instance, mark.number < head.number
    else { return }
    try saveMark(author.instance, head, signed: head.time.milliseconds, id)
  }

  /// Saves the number of the last change set that was signed in a zone, before it is sent.
  func saveMark(_ instance: InstanceID, _ head: ChangeSetTip, signed: Int64, _ id: ZoneID) throws {
    let signed = max(signed, try vault.highWaterMark(id)?.signed ?? 0)
    try vault.saveHighWaterMark(
      HighWaterMark(instance: instance, number: head.number, id: head.id, signed: signed), zone: id)
  }

  private static let copied = "this home was copied from another place, or restored"

  /// Handles a change set that this device has signed and this file never had. The caller has checked the signature.
  func meetOwn(_ author: Author, number: UInt64, stored: UInt64, _ id: ZoneID) throws {
    guard author.device == device, number > stored else { return }
    // The share is one that this account left or was removed from, with everything it wrote there.
    if let state = zones[id]?.state, state.owner != account.id, state.limit(ofUnknown: author) != nil { return }
    probe?(.ownChangeSetMet)
    if try author == self.author(id) {
      try renewInstance(id, because: "the database was restored from a copy")
    } else if stored == 0 {
      incidents.notify(
        "another device sent change sets of this device that this file lacks: the file or the home was restored, or a copy "
          + "of the home runs")
    }
  }
}
