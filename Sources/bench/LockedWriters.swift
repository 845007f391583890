import Foundation

/// Measures how often a program without a busy timeout fails with `database is locked`. A shell loop starts `sqlite3`
/// for each insert, on the machine that writes and on one that receives.
struct LockedWriters {
  let workshop: Workshop
  let inserts: Int

  func measure() throws -> [Figure] {
    let alone = try failures(try workshop.plainDatabase().path, prefix: "alone")
    let pair = try workshop.pair()
    defer { pair.stop() }
    let onWriter = try failures(pair.a.path, prefix: "writer")
    try pair.wait()
    // The other machine writes every 50 ms, like a person or a service that waits for the lock.
    let sender = try workshop.start(
      ["bash", "-c", Self.sender, "sender", pair.a.path])
    let onReceiver = try failures(pair.b.path, prefix: "receiver")
    sender.stop()
    try pair.wait()
    let loops = try [("one", pair.a), ("other", pair.b)].map { try loop($1.path, prefix: $0) }
    let onBoth = try loops.map(percentage)
    return [
      ("on the machine that writes", onWriter, 1.0),
      ("on a machine that receives 20 commits a second", onReceiver, 3.0),
      ("on one of two machines with such loops", onBoth[0], 3.0),
      ("on the other of two machines with such loops", onBoth[1], 3.0),
    ].map { place, percent, aim in
      Figure(
        what: "inserts of a shell loop without a busy timeout that fail \(place) / without a node", ours: percent,
        theirs: alone, unit: "%", aim: .value(aim))
    }
  }

  /// Returns the percentage of the inserts that failed.
  private func failures(_ path: String, prefix: String) throws -> Double {
    try percentage(loop(path, prefix: prefix))
  }

  private func loop(_ path: String, prefix: String) throws -> Program {
    try workshop.start(["bash", "-c", Self.loop, "loop", path, prefix, "\(inserts)"])
  }

  private func percentage(_ loop: Program) throws -> Double {
    guard let failed = Double(loop.finish().last) else { throw Trouble("the loop of inserts failed") }
    return failed / Double(inserts) * 100
  }

  private static let loop = """
    failed=0
    for ((i = 0; i < $3; i++)); do
      sqlite3 "$1" "INSERT INTO items (id, name) VALUES ('$2-$i', 'new')" 2> /dev/null || ((failed++))
    done
    echo $failed
    """

  private static let sender = """
    for ((i = 0; ; i++)); do
      sqlite3 -cmd ".timeout 5000" "$1" "INSERT INTO items (id, name) VALUES ('sent-$i', 'new')"
      sleep 0.05
    done
    """
}
