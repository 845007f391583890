/// Measures the effects of a long BLOB on others: on rows that are committed while it arrives, and on programs that
/// wait for the write lock.
struct BesideAsset {
  let workshop: Workshop
  let bytes: Int

  func measure() throws -> [Figure] {
    try rows() + locks()
  }

  private func rows() throws -> [Figure] {
    let run = try AssetRun(workshop)
    defer { run.end() }
    let contents: [Int64: Content] = [1: Content(size: bytes)]
    let writer = try workshop.startSelf("write", run.a.path)
    guard writer.line() == "ready" else { throw Trouble("the writer does not start") }
    try run.write(contents)
    let times = try Latency.commits(writer, run.b) { try !run.shows(contents) }
    _ = writer.finish()
    try run.check(contents)
    let what = "row committed on A to visible on B while \(bytes / 1_000_000) MB come"
    return [("p50", 0.5, Figure.Aim.value(5)), ("p90", 0.9, .value(20)), ("longest", 1, .none)].map { name, part, aim in
      Figure(what: "\(what), \(name)", ours: times.quantile(part) * 1e3, unit: "ms", aim: aim)
    }
  }

  private func locks() throws -> [Figure] {
    let run = try AssetRun(workshop)
    defer { run.end() }
    let contents: [Int64: Content] = [1: Content(size: bytes)]
    let contender = try workshop.startSelf("contend", run.b.path)
    guard contender.line() == "ready" else { throw Trouble("the contender does not start") }
    try run.write(contents)
    try run.wait(contents)
    guard let longest = Double(contender.finish().last) else { throw Trouble("the contender failed") }
    return [
      Figure(
        what: "longest wait for the write lock on B while \(bytes / 1_000_000) MB are put in place", ours: longest,
        unit: "ms", aim: .none)
    ]
  }
}
