/// Measures the effects of long BLOBs on others: on rows that are committed while they arrive, and on programs that
/// wait for the write lock.
struct BesideAsset {
  let workshop: Workshop
  let contents: [Int64: Content]
  /// The BLOBs in words.
  let name: String

  /// - Parameters:
  ///   - count: The number of BLOBs, which are written in one transaction.
  ///   - bytes: The size of each.
  init(workshop: Workshop, count: Int = 1, bytes: Int) {
    self.workshop = workshop
    contents = Dictionary(uniqueKeysWithValues: (0..<count).map { (Int64($0 + 1), Content(size: bytes)) })
    name = (count == 1 ? "" : "\(count) x ") + "\(bytes / 1_000_000) MB"
  }

  func measure() throws -> [Figure] {
    try rows() + locks()
  }

  /// Returns the time without anything beside it.
  func alone(rounds: Int) throws -> [Figure] {
    var (ours, theirs): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      let plain = Blobs(database: try Database(workshop.newPath("plain.db")))
      try plain.database.run(Blobs.schema)
      theirs.append(try plain.insert(contents))
      let run = try AssetRun(workshop)
      defer { run.end() }
      ours.append(try run.time(contents))
    }
    return [
      Figure(
        what: "BLOBs of \(name), commit on A to visible on B / plain insert", ours: ours.median, theirs: theirs.median,
        unit: "s", aim: .ratio(1.3))
    ]
  }

  private func rows() throws -> [Figure] {
    let run = try AssetRun(workshop)
    defer { run.end() }
    let writer = try workshop.startSelf("write", run.a.path)
    guard writer.line() == "ready" else { throw Trouble("the writer does not start") }
    try run.write(contents)
    let times = try Latency.commits(writer, run.b) { try !run.shows(contents) }
    _ = writer.finish()
    try run.check(contents)
    let quantiles: [(String, Double, Figure.Aim)] = [
      ("p50", 0.5, .value(5)), ("p90", 0.9, .value(20)), ("p99", 0.99, .none), ("longest", 1, .none),
    ]
    return quantiles.map { quantile, part, aim in
      Figure(
        what: "row committed on A to visible on B while \(name) come, \(quantile)", ours: times.quantile(part) * 1e3,
        unit: "ms", aim: aim)
    }
  }

  private func locks() throws -> [Figure] {
    let run = try AssetRun(workshop)
    defer { run.end() }
    let contender = try workshop.startSelf("contend", run.b.path)
    guard contender.line() == "ready" else { throw Trouble("the contender does not start") }
    try run.write(contents)
    try run.wait(contents)
    guard let longest = Double(contender.finish().last) else { throw Trouble("the contender failed") }
    return [
      Figure(
        what: "longest wait for the write lock on B while \(name) come", ours: longest, unit: "ms",
        aim: .none)
    ]
  }
}
