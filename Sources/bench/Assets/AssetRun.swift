import Foundation

/// Two daemons with a table of BLOBs, and the time in which BLOBs get from one to the other.
struct AssetRun {
  private let pair: Pair
  private let source: Blobs
  private let target: Blobs
  private static let patience = 600.0
  /// The pause in microseconds for the effects of the setup. Memory is released some seconds later.
  private static let rest: UInt32 = 4_000_000

  init(_ workshop: Workshop) throws {
    pair = try workshop.pair()
    source = Blobs(database: try pair.a.open())
    try source.database.run(Blobs.schema)
    try workshop.verb(pair.a.home, "track", Blobs.table, "--integer-keys")
    try pair.wait()
    try workshop.verb(pair.b.home, "schema", "--apply")
    try pair.wait()
    target = Blobs(database: try pair.b.open())
    try target.database.run("CREATE TABLE other (n INTEGER)")
  }

  func end() {
    pair.stop()
    pair.a.remove()
    pair.b.remove()
  }

  var a: BenchNode { pair.a }
  var b: BenchNode { pair.b }
  var processes: [Int32] { [pair.a, pair.b].compactMap { $0.daemon?.id } }

  func write(_ contents: [Int64: Content]) throws { try source.write(contents) }

  /// Returns the seconds from a commit on A until B shows all of it.
  func time(_ contents: [Int64: Content]) throws -> Double {
    try write(contents)
    let time = try Machine.time { try wait(contents) }
    try check(contents)
    return time
  }

  func wait(_ contents: [Int64: Content]) throws {
    let deadline = Machine.seconds() + Self.patience
    while try !shows(contents) {
      guard Machine.seconds() < deadline else { throw Trouble("the BLOBs do not arrive") }
      usleep(contents.count == 1 ? 1_000 : 50_000)
    }
  }

  /// Does the same, and returns the seconds until all of it was on B's disk, verified and not yet in its row.
  func waitForStaging(_ contents: [Int64: Content]) throws -> Double {
    let size = contents.values.reduce(0) { $0 + $1.size }
    let start = Machine.seconds()
    while try stagedBytes() < size, try !shows(contents) { usleep(5_000) }
    let staged = Machine.seconds() - start
    try wait(contents)
    return staged
  }

  /// Returns the bytes in the staging. Its files have holes for missing chunks.
  private func stagedBytes() throws -> Int {
    let directory = pair.b.home + "/staging"
    return try FileManager.default.contentsOfDirectory(atPath: directory).reduce(0) { sum, name in
      var status = stat()
      return stat("\(directory)/\(name)", &status) == 0 ? sum + min(Int(status.st_blocks) * 512, status.st_size) : sum
    }
  }

  /// Compares only lengths, which SQLite finds without reading BLOBs.
  func shows(_ contents: [Int64: Content]) throws -> Bool {
    guard let size = contents.values.first?.size else { return true }
    return try target.database.integer("SELECT count(*) FROM blobs WHERE length(content) = \(size)") == contents.count
  }

  /// Waits until a row shows a content of the same length as before.
  func waitForChange(_ key: Int64, _ content: Content) throws {
    let deadline = Machine.seconds() + Self.patience
    while try !target.hasChangedByte(key, content) {
      guard Machine.seconds() < deadline else { throw Trouble("a change does not arrive") }
      usleep(5_000)
    }
  }

  func check(_ contents: [Int64: Content]) throws {
    for (key, content) in contents {
      guard try target.holds(key, content) else { throw Trouble("B does not have the bytes of A") }
    }
  }

  /// Returns the bytes that A has sent for its rows and that B has received for their BLOBs.
  func sentBytes(_ workshop: Workshop) throws -> Double {
    struct Report: Decodable { let received: Double }
    let log = try source.database.integer("SELECT total(size) FROM mesh_log")
    let text = try workshop.output(pair.b.home, "asset", "list", "--json")
    return Double(log) + (try JSONDecoder().decode(Report.self, from: Data(text.utf8)).received)
  }

  /// Waits until the daemons are idle, and begins to watch their memory.
  func watchMemory() throws -> PeakMemory {
    usleep(Self.rest)
    return try PeakMemory(processes)
  }
}

/// The memory that processes have used beyond their initial use.
struct PeakMemory {
  private let idle: [(process: Int32, memory: Double)]

  init(_ processes: [Int32]) throws {
    idle = try processes.map { process in
      let memory = try Machine.residentMemory(process)
      try Machine.forgetPeak(process)
      return (process, memory)
    }
  }

  /// Returns the growth of each process in MiB.
  func growth() throws -> [Double] { try idle.map { try Machine.peakMemory($0.process) - $0.memory } }
}
