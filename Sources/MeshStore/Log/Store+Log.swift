public import MeshCore

// MARK: - Vectors, storing and sending

extension Store {
  public func storedVector(_ zone: ZoneID) throws -> VersionVector { try vector(zone, \.stored) }

  public func stored(_ zone: ZoneID, _ author: Author) throws -> (number: UInt64, citation: ControlID?) {
    try read { session in
      guard let (row, author) = try session.place(zone, author),
        let head = try session.catalog.heads.find(author, row)
      else { return (0, nil) }
      return (head.stored, head.citation)
    }
  }

  public func authorCount(_ zone: ZoneID) throws -> Int {
    try read { session in
      guard let row = try ZoneRow.read(zone, session.sql) else { return 0 }
      return try session.catalog.heads.storedCount(row.id)
    }
  }

  public func mergedVector(_ zone: ZoneID) throws -> VersionVector { try vector(zone, \.merged) }

  public func mergedHeads(_ zone: ZoneID) throws -> [Author: ChangeSetHead] {
    try read { session in
      var heads: [Author: ChangeSetHead] = [:]
      for head in try session.heads(zone) {
        heads[try session.catalog.author(head.author)] = head.mergedHead
      }
      return heads
    }
  }

  public func storedHeads(_ zone: ZoneID) throws -> [Author: ChangeSetHead] {
    try read { session in
      var heads: [Author: ChangeSetHead] = [:]
      for head in try session.heads(zone) {
        guard let id = head.storedID else { continue }
        heads[try session.catalog.author(head.author)] = ChangeSetHead(
          number: head.stored, id: id, time: head.storedTime)
      }
      return heads
    }
  }

  public func changeSetID(_ zone: ZoneID, _ author: Author, _ number: UInt64) throws -> ChangeSetID? {
    try read { session in
      guard let (row, author) = try session.place(zone, author) else { return nil }
      return try LogRow.id(session.sql, zone: row, author: author, number: number)
    }
  }

  public func line(
    _ zone: ZoneID, _ author: Author, through number: UInt64, count: Int
  ) throws -> [SignedHeader] {
    try read { session in
      guard let (row, author) = try session.place(zone, author) else { return [] }
      let statement = try session.sql.statement(
        "SELECT bytes FROM mesh_log WHERE zone = ? AND author = ? AND number <= ? ORDER BY number DESC")
      defer { statement.reset() }
      statement.bind([.integer(row), .integer(author), .bits(min(number, UInt64(Int64.max)))])
      var headers: [SignedHeader] = []
      var size = 0
      while headers.count < count, size < Choices.lineBytes, try statement.step() {
        let bytes = statement.bytes(0)
        size += bytes.count
        headers.append(try ChangeSet(bytes, with: cryptography).signedHeader)
      }
      return headers.reversed()
    }
  }

  public func unitEnd(_ zone: ZoneID, _ author: Author, notLaterThan time: HybridTime) throws -> UInt64 {
    try read { session in
      guard let (row, author) = try session.place(zone, author) else { return 0 }
      let end = try session.sql.integer(
        "SELECT max(number) FROM mesh_log WHERE zone = ? AND author = ? AND final = 1 AND time <= ?",
        [.integer(row), .integer(author), .bits(time.value)])
      return UInt64(bitPattern: end ?? 0)
    }
  }

  private func vector(_ zone: ZoneID, _ number: KeyPath<AuthorHead, UInt64>) throws -> VersionVector {
    try read { session in
      var vector = VersionVector()
      for head in try session.heads(zone) { vector[try session.catalog.author(head.author)] = head[keyPath: number] }
      return vector
    }
  }

  public func store(_ changeSets: [ChangeSet], zone: ZoneID, now: Int64) throws -> [StoreOutcome] {
    guard !changeSets.isEmpty else { return [] }
    // The change sets are acknowledged after they are merged, and requested again after a power failure.
    return try write(isDurable: false) { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      var heads: [Int64: AuthorHead] = [:]
      var quota = try WaitingQuota(session, owners)
      let outcomes = try changeSets.map { changeSet in
        let author = try session.catalog.authorNumber(changeSet.header.author)
        var head = try heads[author] ?? session.catalog.heads.of(author, row.id)
        let outcome = try head.take(changeSet, session.sql, zone: row.id, &quota)
        heads[author] = head
        return outcome
      }
      for head in heads.values where head.stored > 0 { try session.catalog.heads.save(head, row.id) }
      return outcomes
    }
  }

  public func changeSets(
    _ zone: ZoneID, beyond vector: VersionVector, after position: Int64, maximumBytes: Int
  ) throws -> ChangeSetBatch {
    try read { session in
      var batch = ChangeSetBatch(changeSets: [], position: position, isComplete: true)
      guard let row = try ZoneRow.read(zone, session.sql) else { return batch }
      let statement = try session.sql.statement(
        """
        SELECT position, author, number, size, bytes FROM mesh_order CROSS JOIN mesh_log USING (zone, author, number)
        WHERE zone = ? AND position > ? AND position < ? ORDER BY position
        """)
      defer { statement.reset() }
      // Change sets that a power failure may revert are not sent, because they would be written again with other bytes.
      let end = row.nextPosition - Int64(row.flushPart - row.flushSynced)
      statement.bind([.integer(row.id), .integer(position), .integer(end)])
      var total = 0
      while try statement.step() {
        let author = try session.catalog.author(statement.integer(1))
        if statement.bits(2) > vector[author] {
          let size = Int(statement.integer(3))
          guard batch.changeSets.isEmpty || total + size <= maximumBytes else {
            batch.isComplete = false
            break
          }
          total += size
          batch.changeSets.append(statement.bytes(4))
        }
        batch.position = statement.integer(0)
      }
      return batch
    }
  }
}

extension Session {
  /// Returns the numbers of a zone and an author in this file, or nil if one of them was never met.
  fileprivate func place(_ zone: ZoneID, _ author: Author) throws -> (zone: Int64, author: Int64)? {
    guard let row = try ZoneRow.read(zone, sql), let number = try catalog.knownAuthor(author) else { return nil }
    return (row.id, number)
  }

  func heads(_ zone: ZoneID) throws -> [AuthorHead] {
    guard let row = try ZoneRow.read(zone, sql) else { return [] }
    return try catalog.heads.all(row.id)
  }
}

extension AuthorHead {
  /// Stores the change set if it continues the stored ones.
  mutating func take(
    _ changeSet: ChangeSet, _ sql: Connection, zone: Int64, _ quota: inout WaitingQuota
  ) throws -> StoreOutcome {
    let header = changeSet.header
    if header.number <= stored {
      guard let existing = try LogRow.id(sql, zone: zone, author: author, number: header.number) else {
        return .duplicate
      }
      return existing == changeSet.id ? .duplicate : .fork(existing: existing)
    }
    guard header.number == stored + 1 else { return .gap }
    guard header.previous == storedID else { return .brokenChain }
    guard header.time > storedTime || stored == 0 else { return .timeNotGreater }
    guard header.part.index == storedPart else { return .partOutOfOrder }
    guard quota.take(Int64(changeSet.bytes.count), header.author.device) else { return .overQuota }
    try LogRow.insert(sql, zone: zone, author: author, changeSet)
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
