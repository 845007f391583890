import Foundation

/// A line of the table: some work done in several ways, the last of which the others are compared with.
struct Comparison {
  let work: String
  let aim: String
  var ways: [(name: String, run: () throws -> Void)] = []

  /// Runs each way several times in turns, and returns the line with the ratios of each to the last one.
  ///
  /// A ratio is that of two runs of one round. The line shows the median of the rounds, and the lowest and the highest.
  func measured(rounds: Int) throws -> String {
    var times = [[Double]](repeating: [], count: ways.count)
    // The first round warms up the caches and doesn't count.
    for round in 0...rounds {
      for (index, way) in ways.enumerated() {
        let time = try processorTime(of: way.run)
        if round > 0 { times[index].append(time) }
      }
    }
    let base = times.last ?? []
    let cells = zip(ways, times).map { way, times in
      let ratios = zip(times, base).map { $0 / $1 }
      return "\(way.name) \(rounded(median(times) * 1_000)) ms, \(spread(of: ratios))"
    }
    return "| \(work) | \(cells.joined(separator: "<br>")) | \(aim) |"
  }
}

/// Returns the time that the process computes while it does some work, in seconds.
///
/// Unlike the time of a clock, it doesn't depend much on what else the machine does.
func processorTime(of work: () throws -> Void) rethrows -> Double {
  // POSIX has it count microseconds.
  func now() -> Double { Double(clock()) / 1e6 }
  let start = now()
  try work()
  return now() - start
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return 0 }
  return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// Describes the median of some figures, the lowest and the highest.
func spread(of values: [Double]) -> String {
  "\(rounded(median(values))) (\(rounded(values.min() ?? 0))–\(rounded(values.max() ?? 0)))"
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
