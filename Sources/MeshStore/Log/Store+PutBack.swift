public import MeshCore

// MARK: - What this account wrote, and a cut took back

extension Store {
  public func hasTakenBack(_ zone: ZoneID) throws -> Bool {
    try read { session in try session.zoneRows.read(zone).map { try session.log.hasReverted(in: $0.id) } ?? false }
  }

  public func putBack(_ zone: ZoneID, where stands: (ChangeSet) -> Bool) throws -> Bool {
    try write(isDurable: false) { session in
      let row = try session.zoneRows.obtain(zone)
      var quota = try WaitingQuota(session, owners)
      var bytes = 0
      for author in try session.log.authorsOfReverted(in: row.id) {
        var head = try session.catalog.heads.of(author, row.id)
        try session.log.removeReverted(through: head.stored, of: author, in: row.id)
        while bytes < Choices.lineBytes,
          let next = try session.log.reverted(head.stored + 1, of: author, in: row.id)
        {
          let changeSet = try ChangeSet(next, with: cryptography)
          guard stands(changeSet), try head.take(changeSet, session.log, zone: row.id, &quota) == .stored else { break }
          try session.log.removeReverted(through: head.stored, of: author, in: row.id)
          bytes += next.count
        }
        if head.stored > 0 { try session.catalog.heads.save(head, row.id) }
      }
      if bytes > 0 { session.reached(.putBack) }
      return bytes > 0
    }
  }
}
