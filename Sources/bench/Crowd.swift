import ArgumentParser
import Foundation

/// Measures many nodes of one account on one machine whose databases are written at the same time, compared with few
/// nodes on which the same number of rows are written.
///
/// The time runs from the moment when all writers begin until every file has all rows.
struct Crowd {
  let workshop: Workshop
  /// The rows that are written on each of the many nodes.
  let rows: Int
  let rounds: Int
  private static let many = 12
  private static let few = 3

  /// The addresses that the nodes dial.
  private enum Dialling { case first, all }

  func measure() throws -> [Figure] {
    try [(Dialling.first, "one of them"), (.all, "each other")].map { dialling, whom in
      let few = try time(Self.few, dialling)
      let many = try time(Self.many, dialling)
      return Figure(
        what: "\(Self.many) nodes that dial \(whom) write \(rows) rows each / \(Self.few) nodes", ours: many * 1e3,
        theirs: few * 1e3, unit: "ms", aim: .ratio(2))
    }
  }

  /// Returns the median of the rounds.
  private func time(_ count: Int, _ dialling: Dialling) throws -> Double {
    let nodes = try start(count, dialling)
    defer { for node in nodes { node.stop() } }
    let total = rows * Self.many
    return try (1...rounds).map { round in
      let writers = try nodes.map { try workshop.startSelf("fill", $0.path, "\(total / count)") }
      for writer in writers where writer.line() != "ready" { throw Trouble("a writer does not start") }
      let arrivals = try nodes.map { try Arrival($0, rows: total * round) }
      let time = try Machine.time {
        for writer in writers { try writer.send("go") }
        for arrival in arrivals { try arrival.wait() }
      }
      for writer in writers where writer.finish().code != 0 { throw Trouble("a writer failed") }
      return time
    }.median
  }

  /// Returns daemons that are all connected as they dial.
  private func start(_ count: Int, _ dialling: Dialling) throws -> [BenchNode] {
    let first = try workshop.capturedDatabase()
    try first.serve()
    var nodes = [first]
    while nodes.count < count {
      let peers = dialling == .all ? try nodes.dropFirst().compactMap { try $0.status().listen } : []
      nodes.append(try workshop.join(first, "device\(nodes.count)", peers: peers))
    }
    for (index, node) in nodes.enumerated() {
      let connections = dialling == .all || index == 0 ? count - 1 : 1
      try Machine.wait("the nodes do not meet", pause: 100_000) {
        try node.status().peers.count(where: \.connected) == connections
      }
      try node.wait()
    }
    return nodes
  }
}

/// The writer on one of many nodes. It inserts rows in transactions of ten as soon as it is told to.
struct Filler: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "fill", shouldDisplay: false)
  private static let batch = 10

  @Argument var path: String
  @Argument var rows: Int

  func run() throws {
    let database = try Database(path)
    let items = Items(rows)
    let insert = try Prepared(database, Items.insertion)
    Machine.say("ready")
    guard readLine() != nil else { return }
    for start in stride(from: 0, to: rows, by: Self.batch) {
      try database.run("BEGIN IMMEDIATE")
      try items.insert(start..<min(start + Self.batch, rows), insert)
      try database.run("COMMIT")
    }
  }
}
