import MeshCore

/// Compares logs whenever devices meet. If two copies of a log differ, the devices search the first differing change
/// set, and a control record carries the proof to all members.
struct Forks: Part {
  let context: Context
  let cutoffs: Cutoffs
  let writers: Writers
  let logs: ControlLogs
  let changes: ControlChanges

  func learnTips(_ link: LinkID, _ id: ZoneID, _ tips: [Author: Message.LogTip]) throws {
    guard sessions.isCommon(id, link) else { return }
    var own = 0
    for (author, tip) in tips.sorted(by: { $0.key < $1.key }) {
      guard tip.number <= (try cutoffs.limit(author, id)) ?? .max else { continue }
      if author.device == device, tip.number > (try store.log.stored(id, author).number) {
        // A tip is not signed. Only the change sets that the peer shows of the log are, and only they count.
        own += 1
        if own <= Limits.instances { sessions.send(link, .excerptRequest(id, author, through: tip.number)) }
        continue
      }
      guard let known = try store.log.changeSetID(id, author, tip.number) else { continue }
      if Message.LogTip(number: tip.number, id: known) != tip {
        sessions.send(link, .excerptRequest(id, author, through: tip.number))
      }
    }
  }

  func sendExcerpt(_ link: LinkID, _ id: ZoneID, _ author: Author, through number: UInt64) throws {
    guard sessions.isCommon(id, link) else { return }
    let excerpt = try store.log.excerpt(id, author, through: number, count: Limits.excerpt)
    let encoded = excerpt.map { header in
      var writer = ByteWriter()
      header.write(to: &writer)
      return writer.bytes
    }
    sessions.send(link, .excerpt(id, encoded))
  }

  /// Compares an excerpt of a log. The lowest different change set is the fork, or the fork is further down.
  func learnExcerpt(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard sessions.isCommon(id, link) else { return }
    let headers = try encoded.map { bytes in
      var reader = ByteReader(bytes)
      let header = try SignedHeader(from: &reader, cryptography)
      try reader.end()
      return header
    }
    if let last = headers.last, last.header.author.device == device, last.header.zone == id {
      try meetOwnExcerpt(last, link, id)
      guard sessions[link] != nil else { return }
    }
    for theirs in headers {
      let author = theirs.header.author
      guard theirs.header.zone == id, let known = try store.log.changeSetID(id, author, theirs.header.number),
        known != theirs.id
      else { continue }
      return try compare(theirs, link, id, now: now)
    }
  }

  /// Handles a change set of this device that a peer has: the file may be older than the change set.
  private func meetOwnExcerpt(_ theirs: SignedHeader, _ link: LinkID, _ id: ZoneID) throws {
    let (author, number) = (theirs.header.author, theirs.header.number)
    let (stored, citation) = try store.log.stored(id, author)
    guard number > stored, number <= cutoffs.limit(author, id, citing: citation) ?? .max else { return }
    guard theirs.isSigned(cryptography) else {
      return sessions.end(link, .protocolViolation, "a change set's signature is not its author's")
    }
    try writers.meetOwn(author, number: number, stored: stored, id)
  }

  /// Compares a change set with the one that has the same number here.
  func compare(_ theirs: SignedHeader, _ link: LinkID, _ id: ZoneID, now: Moment) throws {
    let header = theirs.header
    guard let ours = try store.log.excerpt(id, header.author, through: header.number, count: 1).last else { return }
    if let proof = ForkProof(ours, theirs) {
      guard proof.isSigned(cryptography) else {
        return sessions.end(link, .protocolViolation, "a change set's signature is not its author's")
      }
      try prove(proof, id, now: now)
    } else if header.number > 1 {
      sessions.send(link, .excerptRequest(id, header.author, through: header.number - 1))
    }
  }

  /// Sends a proof to all members, unless it says nothing new.
  private func prove(_ proof: ForkProof, _ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], proof.limit < (try cutoffs.limit(proof.author, id)) ?? .max,
      zone.state.account(of: proof.author.device) != nil, logs.mayProve(id)
    else { return }
    probe?(.forkProven)
    changes.notify(proof)
    try changes.append(.fork(proof), id, now: now)
  }

  /// Appends a proof of the excess to the zone's log, once. It contains the first change set of each stored author of
  /// the device or the account, and of the one that has no room.
  ///
  /// - Parameter beginning: The first change set of that author. The caller has checked its signature.
  func prove(_ beginning: SignedHeader, _ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], let account = zone.state.account(of: beginning.header.author.device),
      !zone.state.isOverfull(beginning.header.author.device)
    else { return }
    let stored = try store.log.storedVector(id).authors
    let ofDevice = stored.filter { $0.device == beginning.header.author.device }
    let authors =
      ofDevice.count >= Limits.instances ? ofDevice : stored.filter { zone.state.account(of: $0.device) == account }
    var headers = [beginning]
    for author in authors where author != beginning.header.author {
      headers += try store.log.excerpt(id, author, through: 1, count: 1)
    }
    for start in stride(from: 0, to: headers.count, by: Limits.beginnings) {
      guard let excess = Excess(headers[start..<min(start + Limits.beginnings, headers.count)]),
        logs.mayProve(id)
      else { return }
      probe?(.excessProven)
      try logs.append(.excess(excess), id)
    }
    try changes.changed(id, now: now)
  }
}
