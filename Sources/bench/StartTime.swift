import Foundation

/// Measures the time from the start of a daemon until a running peer shows a row that is inserted right after the
/// start.
struct StartTime {
  let workshop: Workshop
  let rows: Int
  let rounds: Int

  func measure() throws -> [Figure] {
    let pair = try workshop.pair()
    defer { pair.stop() }
    try Items.insert(rows, try pair.a.open())
    try pair.wait()
    let count = try Prepared(try pair.a.open(), "SELECT count(*) FROM items WHERE id = ?")
    // B is started, because it dials A. A keeps its address.
    let times = try (0..<rounds).map { _ in
      pair.b.stop()
      let item = Items(1)
      count.bind(item.key(0), at: 1)
      let time = try Machine.time {
        try pair.b.start()
        try item.insertAll(try pair.b.open())
        try Machine.wait("the row does not arrive") { try count.integer() == 1 }
      }
      try pair.wait()
      return time
    }
    return [
      Figure(
        what: "start with \(rows) rows until a peer shows a row inserted then", ours: times.median * 1e3,
        unit: "ms", aim: .value(300))
    ]
  }
}
