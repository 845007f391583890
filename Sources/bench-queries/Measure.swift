/// A line of the table: some work done in several ways, one of which the others are compared with.
struct Comparison {
  let work: String
  let aim: String
  var ways: [(name: String, run: () throws -> Void)] = []

  /// Runs each way several times in turns, and returns the line with the fastest run of each.
  func measured(rounds: Int) throws -> String {
    var best = [Double](repeating: .infinity, count: ways.count)
    for _ in 0..<rounds {
      for (index, way) in ways.enumerated() {
        let time = try ContinuousClock().measure { try way.run() }
        best[index] = min(best[index], time / .milliseconds(1))
      }
    }
    let base = best.last ?? 1
    let cells = zip(ways, best).map { way, time in "\(way.name) \(rounded(time)) ms (\(rounded(time / base)))" }
    return "| \(work) | \(cells.joined(separator: "<br>")) | \(aim) |"
  }
}

/// Returns the time that a share of the samples doesn't exceed.
func percentile(_ share: Double, of samples: [Duration]) -> Duration {
  let sorted = samples.sorted()
  return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

func rounded(_ value: Double) -> String {
  let scaled = (value * 100).rounded() / 100
  return "\(scaled)"
}
