import ArgumentParser
import CSQLite
import Foundation

/// Measures how long another program waits for the write lock while many changes arrive: on the node where they are
/// written, and on the node that receives them.
struct LockWaits {
  let workshop: Workshop
  let rows: Int

  func measure() throws -> [Figure] {
    let items = Items(rows)
    let pair = try workshop.pair()
    defer { pair.stop() }
    for node in [pair.a, pair.b] { try node.open().run("CREATE TABLE other (n INTEGER)") }
    try pair.wait()
    let arrival = try Arrival(pair.b, rows: rows)
    // The insert itself holds A's lock, so the contender on A starts after it.
    let onB = try workshop.startSelf("contend", pair.b.path)
    guard onB.line() == "ready" else { throw Trouble("the contender on B does not start") }
    try items.insertAll(try pair.a.open())
    let onA = try workshop.startSelf("contend", pair.a.path)
    guard onA.line() == "ready" else { throw Trouble("the contender on A does not start") }
    try arrival.wait()
    return try [("B", onB), ("A", onA)].map { name, contender in
      guard let longest = Double(contender.finish().last) else { throw Trouble("the contender on \(name) failed") }
      return Figure(
        what: "longest wait for the write lock on \(name) while \(rows) rows go from A to B", ours: longest,
        unit: "ms", aim: .value(50))
    }
  }
}

/// The other program: small transactions in a table that isn't synchronized, until its input ends. It prints the
/// longest wait for the lock in milliseconds.
struct Contender: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "contend", shouldDisplay: false)

  @Argument var path: String

  /// The time between two attempts at the lock, in microseconds. SQLite's own waiter sleeps up to 100 ms, and would
  /// measure itself.
  private static let pause: UInt32 = 200
  /// The time between two transactions, in microseconds.
  private static let rest: UInt32 = 2_000

  func run() throws {
    let database = try Database(path)
    sqlite3_busy_handler(database.handle, { _, _ in usleep(Contender.pause) == 0 ? 1 : 1 }, nil)
    let insert = try Prepared(database, "INSERT INTO other VALUES (1)")
    Machine.say("ready")
    var longest = 0.0
    while !inputEnded {
      longest = max(longest, try Machine.time { try database.run("BEGIN IMMEDIATE") })
      try insert.execute()
      try database.run("COMMIT")
      usleep(Self.rest)
    }
    print(longest * 1e3)
  }

  private var inputEnded: Bool {
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    return poll(&input, 1, 0) > 0
  }
}
