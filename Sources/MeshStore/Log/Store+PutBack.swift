public import MeshCore

// MARK: - What this account wrote, and a cut took back

extension Store {
  public func hasTakenBack(_ zone: ZoneID) throws -> Bool {
    try read { session in
      try ZoneRow.read(zone, session.sql).map { try LogRow.hasTakenBack(session.sql, zone: $0.id) } ?? false
    }
  }

  public func putBack(_ zone: ZoneID, where stands: (ChangeSet) -> Bool) throws -> Bool {
    try write(isDurable: false) { session in
      let row = try ZoneRow.obtain(zone, session.sql)
      var quota = try WaitingQuota(session, owners)
      var bytes = 0
      for author in try LogRow.authorsTakenBack(session.sql, zone: row.id) {
        var head = try session.catalog.heads.of(author, row.id)
        try LogRow.forget(takenBackThrough: head.stored, session.sql, zone: row.id, author: author)
        while bytes < Choices.lineBytes,
          let next = try LogRow.bytes(session.sql, zone: -row.id, author: author, number: head.stored + 1)
        {
          let changeSet = try ChangeSet(next, with: cryptography)
          guard stands(changeSet), try head.take(changeSet, session.sql, zone: row.id, &quota) == .stored else { break }
          try LogRow.forget(takenBackThrough: head.stored, session.sql, zone: row.id, author: author)
          bytes += next.count
        }
        if head.stored > 0 { try session.catalog.heads.save(head, row.id) }
      }
      if bytes > 0 { session.reached(.putBack) }
      return bytes > 0
    }
  }
}
