package import MeshCore

/// The change log: what is stored and merged of each author, storing, and sending.
package struct StoreLog: LogStore, StorePart {
  let access: StoreAccess

  package func storedVector(_ zone: ZoneID) throws -> VersionVector { try vector(zone, \.stored) }

  package func stored(_ zone: ZoneID, _ author: Author) throws -> (number: UInt64, citation: ControlID?) {
    try read { transaction in
      guard let (row, author) = try transaction.place(zone, author),
        let head = try transaction.catalog.heads.find(author, row)
      else { return (0, nil) }
      return (head.stored, head.citation)
    }
  }

  package func authorCount(_ zone: ZoneID) throws -> Int {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return 0 }
      return try transaction.catalog.heads.storedCount(row.id)
    }
  }

  package func mergedVector(_ zone: ZoneID) throws -> VersionVector { try vector(zone, \.merged) }

  package func mergedTips(_ zone: ZoneID) throws -> [Author: ChangeSetTip] {
    try read { transaction in
      var heads: [Author: ChangeSetTip] = [:]
      for head in try transaction.heads(zone) {
        heads[try transaction.catalog.author(head.author)] = head.mergedHead
      }
      return heads
    }
  }

  package func storedTips(_ zone: ZoneID) throws -> [Author: ChangeSetTip] {
    try read { transaction in
      var heads: [Author: ChangeSetTip] = [:]
      for head in try transaction.heads(zone) {
        guard let id = head.storedID else { continue }
        heads[try transaction.catalog.author(head.author)] = ChangeSetTip(
          number: head.stored, id: id, time: head.storedTime)
      }
      return heads
    }
  }

  package func citations(_ zone: ZoneID) throws -> [Author: ControlID] {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return [:] }
      var citations: [Author: ControlID] = [:]
      for head in try transaction.catalog.heads.all(row.id) {
        if let citation = head.citation { citations[try transaction.catalog.author(head.author)] = citation }
      }
      return citations
    }
  }

  package func changeSetID(_ zone: ZoneID, _ author: Author, _ number: UInt64) throws -> ChangeSetID? {
    try read { transaction in
      guard let (row, author) = try transaction.place(zone, author) else { return nil }
      return try transaction.log.id(number, of: author, in: row)
    }
  }

  package func excerpt(
    _ zone: ZoneID, _ author: Author, through number: UInt64, count: Int
  ) throws -> [SignedHeader] {
    try read { transaction in
      guard let (row, author) = try transaction.place(zone, author) else { return [] }
      var headers: [SignedHeader] = []
      var size = 0
      guard count > 0 else { return [] }
      try transaction.log.forEach(through: number, of: author, in: row) { bytes in
        size += bytes.count
        headers.append(try ChangeSet(bytes, with: cryptography).signedHeader)
        return headers.count < count && size < Choices.excerptBytes
      }
      return headers.reversed()
    }
  }

  package func unitEnd(_ zone: ZoneID, _ author: Author, notLaterThan time: HybridTime) throws -> UInt64 {
    try read { transaction in
      guard let (row, author) = try transaction.place(zone, author) else { return 0 }
      return try transaction.log.unitEnd(notLaterThan: time, of: author, in: row)
    }
  }

  private func vector(_ zone: ZoneID, _ number: KeyPath<AuthorHead, UInt64>) throws -> VersionVector {
    try read { transaction in
      var vector = VersionVector()
      for head in try transaction.heads(zone) {
        vector[try transaction.catalog.author(head.author)] = head[keyPath: number]
      }
      return vector
    }
  }

  package func store(_ changeSets: [ChangeSet], zone: ZoneID, now: Int64) throws -> [StoreOutcome] {
    guard !changeSets.isEmpty else { return [] }
    // The change sets are acknowledged after they are merged, and requested again after a power failure.
    return try write(isDurable: false) { transaction in
      let row = try transaction.counters.obtain(zone)
      var heads: [Int64: AuthorHead] = [:]
      var quota = try WaitingQuota(transaction, owners)
      let outcomes = try changeSets.map { changeSet in
        let author = try transaction.catalog.authorNumber(changeSet.header.author)
        var head = try heads[author] ?? transaction.catalog.heads.of(author, row.id)
        let outcome = try head.take(changeSet, transaction.log, zone: row.id, &quota)
        heads[author] = head
        return outcome
      }
      for head in heads.values where head.stored > 0 { try transaction.catalog.heads.save(head, row.id) }
      return outcomes
    }
  }

  package func changeSets(
    _ zone: ZoneID, beyond vector: VersionVector, of devices: Set<DeviceID>?, after position: Int64, maximumBytes: Int
  ) throws -> ChangeSetBatch {
    try read { transaction in
      var batch = ChangeSetBatch(changeSets: [], position: position, isComplete: true)
      guard let row = try transaction.counters.read(zone) else { return batch }
      // Change sets that a power failure may revert are not sent, because they would be written again with other bytes.
      let end = row.nextPosition - Int64(row.flushPart - row.flushSynced)
      var total = 0
      try transaction.log.forEachMerged(after: position, before: end, in: row.id) { merged in
        let author = try transaction.catalog.author(merged.author)
        if merged.number > vector[author], devices?.contains(author.device) ?? true {
          let size = merged.size
          guard batch.changeSets.isEmpty || total + size <= maximumBytes else {
            batch.isComplete = false
            return false
          }
          total += size
          batch.changeSets.append(merged.bytes)
          batch.devices.insert(author.device)
        }
        batch.position = merged.position
        return true
      }
      return batch
    }
  }
}

extension Transaction {
  /// Returns the numbers of a zone and an author in this file, or nil if one of them was never met.
  fileprivate func place(_ zone: ZoneID, _ author: Author) throws -> (zone: Int64, author: Int64)? {
    guard let row = try counters.read(zone), let number = try catalog.knownAuthor(author) else { return nil }
    return (row.id, number)
  }

  func heads(_ zone: ZoneID) throws -> [AuthorHead] {
    guard let row = try counters.read(zone) else { return [] }
    return try catalog.heads.all(row.id)
  }
}

extension AuthorHead {
  /// Stores the change set if it continues the stored ones.
  mutating func take(
    _ changeSet: ChangeSet, _ log: LogTable, zone: Int64, _ quota: inout WaitingQuota
  ) throws -> StoreOutcome {
    let header = changeSet.header
    if header.number <= stored {
      guard let existing = try log.id(header.number, of: author, in: zone) else {
        return .duplicate
      }
      return existing == changeSet.id ? .duplicate : .fork(existing: existing)
    }
    guard header.number == stored + 1 else { return .gap }
    guard header.previous == storedID else { return .brokenChain }
    guard header.time > storedTime || stored == 0 else { return .timeNotGreater }
    guard header.part.index == storedPart else { return .partOutOfOrder }
    guard quota.take(Int64(changeSet.bytes.count), header.author.device) else { return .overQuota }
    try log.insert(changeSet, of: author, in: zone)
    advance(to: changeSet)
    waiting += Int64(changeSet.bytes.count)
    return .stored
  }

  /// Makes this change set the stored head.
  mutating func advance(to changeSet: ChangeSet) {
    stored = changeSet.header.number
    if stored == 1 { citation = changeSet.header.citation }
    storedID = changeSet.id
    storedTime = changeSet.header.time
    storedPart = changeSet.header.part.isFinal ? 0 : changeSet.header.part.index + 1
  }
}
