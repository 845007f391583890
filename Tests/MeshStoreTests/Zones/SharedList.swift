import MeshCore

@testable import MeshStore

/// Alice shares the list L, of two; Bob takes part.
enum SharedList {
  static let (home, share, bobs) = (Member.zone(1), Member.zone(2), Member.zone(3))
  static let root = RecordName(table: "lists", key: .text("L"))
  static let mine = ZoneStanding(zone: home, role: .privateZone)
  static let shared = ZoneStanding(zone: share, role: .owned, root: root)

  /// L has a reminder with a step, and so has M, which is private.
  static func alice(foreignKeys: Bool = true) throws -> Member {
    let alice = try Member(1, [mine], foreignKeys: foreignKeys)
    try alice.run(
      """
      INSERT INTO lists VALUES ('L', 'shared'), ('M', 'mine');
      INSERT INTO reminders VALUES ('r1', 'L', 'milk', 0), ('r2', 'M', 'secret', 0);
      INSERT INTO steps VALUES ('s1', 'r1', 'go'), ('s2', 'r2', 'hide');
      """)
    try alice.settle()
    try alice.stand(shared)
    try alice.settle()
    return alice
  }

  static func laptop() throws -> Member { try Member(2, [mine, shared]) }

  static func bob() throws -> Member {
    try Member(
      9,
      [ZoneStanding(zone: bobs, role: .privateZone), ZoneStanding(zone: share, role: .readWrite, root: root)])
  }

  /// Every text in the share's change sets that a member has.
  static func texts(_ member: Member) throws -> Set<String> {
    try member.store.access.read { transaction in
      var texts: Set<String> = []
      guard let zone = try transaction.counters.read(share) else { return texts }
      let log = LogReader(transaction: transaction, zone: zone.id, reader: member.reader(share))
      for head in try transaction.catalog.heads.all(zone.id) where head.stored > 0 {
        for number in 1...head.stored {
          try log.forEachRow(head.author, number) { _, change, _, _ in
            for case .value(.text(let bytes)) in change.fields.map(\.value) {
              texts.insert(String(decoding: bytes, as: UTF8.self))
            }
          }
        }
      }
      return texts
    }
  }
}
