import ArgumentParser
import Foundation

/// Measures the time from a commit on one node, by another program, until a reader of the other's file sees it, on an
/// idle mesh.
struct Latency {
  let workshop: Workshop
  let commits: Int
  /// The time between two checks of the other file, in microseconds. A reader without pauses would take a core from the
  /// nodes.
  private static let look: UInt32 = 50
  /// The time between two commits, in microseconds, so that each meets an idle mesh.
  private static let rest: ClosedRange<UInt32> = 10_000...30_000
  private static let patience = 30.0

  func measure() throws -> [Figure] {
    let roundTrips = try Echo.roundTrips(workshop, count: commits)
    let pair = try workshop.pair()
    defer { pair.stop() }
    let python = try workshop.start(["python3", "-c", Self.pythonWriter, pair.a.path])
    let c = try workshop.startSelf("write", pair.a.path)
    return try [("Python", python), ("C", c)].flatMap { name, writer in
      guard writer.line() == "ready" else { throw Trouble("the writer in \(name) does not start") }
      var left = commits
      let times = try Self.commits(writer, pair.b) {
        left -= 1
        return left >= 0
      }
      _ = writer.finish()
      return [("p50", 0.5, 2.0), ("p99", 0.99, 8.0)].map { quantile, part, aim in
        Figure(
          what: "commit on A (\(name)) to visible on B, \(quantile) / loopback round trip",
          ours: times.quantile(part) * 1e3, theirs: roundTrips.quantile(part) * 1e3, unit: "ms", aim: .value(aim))
      }
    }
  }

  /// Makes the writer commit one row after the other while the condition holds. Returns the seconds until each was
  /// seen.
  static func commits(_ writer: Program, _ node: BenchNode, while goesOn: () throws -> Bool) throws -> [Double] {
    let database = try node.open()
    let version = try Prepared(database, "PRAGMA data_version")
    let count = try Prepared(database, "SELECT count(*) FROM items WHERE id = ?")
    var times: [Double] = []
    while try goesOn() {
      usleep(.random(in: Self.rest))
      let key = UUID().uuidString
      count.bind(key, at: 1)
      var seen = try version.integer()
      try writer.send(key)
      let deadline = Machine.seconds() + Self.patience
      while true {
        let now = try version.integer()
        if now != seen, try count.integer() == 1 { break }
        seen = now
        guard Machine.seconds() < deadline else { throw Trouble("a commit does not arrive") }
        usleep(Self.look)
      }
      let arrived = Machine.seconds()
      guard let line = writer.line(), let nanoseconds = Double(line) else { throw Trouble("the writer failed") }
      times.append(arrived - nanoseconds / 1e9)
    }
    return times
  }

  private static let pythonWriter = """
    import sqlite3, sys, time
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    print("ready", flush=True)
    for line in sys.stdin:
        connection.execute("INSERT INTO items (id, name) VALUES (?, 'new')", (line.strip(),))
        print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
    """
}

/// The writer with SQLite's C interface. It inserts a row for each line with a key, and prints the time of the commit.
struct Writer: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "write", shouldDisplay: false)

  @Argument var path: String

  func run() throws {
    let database = try Database(path)
    let insert = try Prepared(database, "INSERT INTO items (id, name) VALUES (?, 'new')")
    Machine.say("ready")
    while let key = readLine() {
      insert.bind(key, at: 1)
      try insert.execute()
      Machine.say("\(Machine.nanoseconds())")
    }
  }
}
