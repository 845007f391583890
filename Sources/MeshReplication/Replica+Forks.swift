import MeshCore

/// Compares logs whenever devices meet. If two copies of a log differ, the devices search the first differing change
/// set, and a control record carries the proof to all members.
extension Replica {
  /// Sends the heads of the logs.
  ///
  /// - Parameter vector: Only authors that are further than this are sent.
  func sendHeads(_ links: [LinkID], _ id: ZoneID, beyond vector: VersionVector = VersionVector()) throws {
    let heads = try store.storedHeads(id).filter { $0.value.number > vector[$0.key] }
    guard !heads.isEmpty else { return }
    send(links, .heads(id, heads.mapValues { Message.LineHead(number: $0.number, id: $0.id) }))
  }

  func learnHeads(_ link: LinkID, _ id: ZoneID, _ heads: [Author: Message.LineHead]) throws {
    guard links(sharing: id).contains(link) else { return }
    var own = 0
    for (author, head) in heads.sorted(by: { $0.key < $1.key }) {
      guard head.number <= (try limit(author, id)) ?? .max else { continue }
      if author.device == device, head.number > (try store.stored(id, author).number) {
        // A head is not signed. Only the change sets that the peer shows of the log are, and only they count.
        own += 1
        if own <= Limits.instances { send(link, .lineRequest(id, author, through: head.number)) }
        continue
      }
      guard let known = try store.changeSetID(id, author, head.number) else { continue }
      if Message.LineHead(number: head.number, id: known) != head {
        send(link, .lineRequest(id, author, through: head.number))
      }
    }
  }

  func sendLine(_ link: LinkID, _ id: ZoneID, _ author: Author, through number: UInt64) throws {
    guard links(sharing: id).contains(link) else { return }
    let line = try store.line(id, author, through: number, count: Limits.line)
    let encoded = line.map { header in
      var writer = ByteWriter()
      header.write(to: &writer)
      return writer.bytes
    }
    send(link, .line(id, encoded))
  }

  /// Compares a section of a log. The lowest different change set is the fork, or the fork is further down.
  func learnLine(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard links(sharing: id).contains(link) else { return }
    let headers = try encoded.map { bytes in
      var reader = ByteReader(bytes)
      let header = try SignedHeader(from: &reader, cryptography)
      try reader.end()
      return header
    }
    if let last = headers.last, last.header.author.device == device, last.header.zone == id {
      try meetOwnLine(last, link, id)
      guard sessions[link] != nil else { return }
    }
    for theirs in headers {
      let author = theirs.header.author
      guard theirs.header.zone == id, let known = try store.changeSetID(id, author, theirs.header.number),
        known != theirs.id
      else { continue }
      return try compare(theirs, link, id, now: now)
    }
  }

  /// Handles a change set of this device that a peer has: the file may be older than the change set.
  private func meetOwnLine(_ theirs: SignedHeader, _ link: LinkID, _ id: ZoneID) throws {
    let (author, number) = (theirs.header.author, theirs.header.number)
    let (stored, citation) = try store.stored(id, author)
    guard number > stored, number <= limit(author, id, citing: citation) ?? .max else { return }
    guard theirs.isSigned(cryptography) else {
      return end(link, .protocolViolation, "a change set's signature is not its author's")
    }
    try meetOwn(author, number: number, stored: stored, id)
  }

  /// Compares a change set with the one that has the same number here.
  func compare(_ theirs: SignedHeader, _ link: LinkID, _ id: ZoneID, now: Moment) throws {
    let header = theirs.header
    guard let ours = try store.line(id, header.author, through: header.number, count: 1).last else { return }
    if let proof = ForkProof(ours, theirs) {
      guard proof.isSigned(cryptography) else {
        return end(link, .protocolViolation, "a change set's signature is not its author's")
      }
      try prove(proof, id, now: now)
    } else if header.number > 1 {
      send(link, .lineRequest(id, header.author, through: header.number - 1))
    }
  }

  /// Sends a proof to all members, unless it says nothing new.
  private func prove(_ proof: ForkProof, _ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], proof.limit < (try limit(proof.author, id)) ?? .max,
      zone.state.account(of: proof.author.device) != nil, mayProve(zone)
    else { return }
    probe?(.forkProven)
    notify(fork: proof)
    try append(.fork(proof), id)
    try controlChanged(id, now: now)
  }

  /// Returns whether this device may publish proofs about others. It reserves half of its numbers for its own actions.
  func mayProve(_ zone: Zone) -> Bool {
    certificate != nil && zone.state.cuts[device] == nil && zone.state.permission(account.id) != nil
      && zone.log.last(of: device)?.number ?? 0 < Choices.provingRecords
  }

  func notify(fork proof: ForkProof) {
    // Other accounts can fork at will. Their notices leave room for those about this account.
    guard account.certificates[proof.author.device] != nil || notices.count < Self.noticesOfOthers else { return }
    notify(
      "\(proof.author) signed two change sets with number \(proof.first.header.number): its database or its home was copied "
        + "or restored. Both branches end there, on every device; it writes its own again")
  }
}
