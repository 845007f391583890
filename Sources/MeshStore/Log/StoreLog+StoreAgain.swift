package import MeshCore

// MARK: - What this account wrote, and a cut took back

extension StoreLog {
  package func hasReverted(_ zone: ZoneID) throws -> Bool {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return false }
      // Another device may have the change sets of a receipt.
      return try transaction.log.hasReverted(in: row.id) || !transaction.receipts.authors(in: row.id).isEmpty
    }
  }

  package func storeAgain(_ zone: ZoneID, where stands: (ChangeSet) -> Bool) throws -> Bool {
    try write(isDurable: false) { transaction in
      let row = try transaction.counters.obtain(zone)
      var quota = try WaitingQuota(transaction, owners)
      var bytes = 0
      let authors = try transaction.log.authorsOfReverted(in: row.id) + transaction.receipts.authors(in: row.id)
      for author in Set(authors).sorted() {
        var head = try transaction.catalog.heads.of(author, row.id)
        func endReverted() throws {
          try transaction.log.removeReverted(through: head.stored, of: author, in: row.id)
          try transaction.receipts.removeArrived(through: head.stored, of: author, in: row.id)
        }
        try endReverted()
        while bytes < Choices.excerptBytes,
          let next = try transaction.log.reverted(head.stored + 1, of: author, in: row.id)
        {
          let changeSet = try ChangeSet(next, with: cryptography)
          guard stands(changeSet), try head.take(changeSet, transaction.log, zone: row.id, &quota) == .stored else {
            break
          }
          bytes += next.count
        }
        try endReverted()
        if head.stored > 0 { try transaction.catalog.heads.save(head, row.id) }
      }
      if bytes > 0 { transaction.reached(.storedAgain) }
      return bytes > 0
    }
  }
}
