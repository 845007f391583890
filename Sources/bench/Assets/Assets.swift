import ArgumentParser
import Foundation

/// Compares long BLOBs between two daemons with files between two Syncthings, and with the amount that one core can
/// encrypt and hash.
struct Assets: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures long BLOBs beside Syncthing and the machine's own limit.",
    discussion: """
      A file between two Syncthings takes from its scan, which is asked for at once, until it has its name at the other; a BLOB \
      from its commit until a reader of the other file sees it. Content is random and new each time.
      """)

  @Option(help: "MB of the long BLOB.")
  var size = 900

  @Option(help: "BLOBs of 20 KiB.")
  var small = 10_000

  @Option(help: "BLOBs of 5 MB.")
  var photos = 100

  @Option(help: "Rounds of the long BLOB and of those of 5 MB, whose median is printed.")
  var rounds = 3

  @OptionGroup var setting: Setting<Part>

  @Flag(help: "Measure nothing beside it.")
  var withoutSyncthing = false

  enum Part: String, CaseIterable, ExpressibleByArgument {
    case long, small, change, beside, photos
  }

  func run() throws {
    try setting.measure { workshop, printer in
      for part in setting.parts { printer.add(try measure(part, workshop)) }
    }
  }

  private func measure(_ part: Part, _ workshop: Workshop) throws -> [Figure] {
    switch part {
    case .long: try LongAsset(workshop, bytes, rounds, !withoutSyncthing).measure()
    case .small: try SmallAssets(workshop, small, !withoutSyncthing).measure()
    case .change: try ChangedAsset(workshop, bytes, !withoutSyncthing).measure()
    case .beside: try BesideAsset(workshop: workshop, bytes: bytes).measure()
    case .photos: try measurePhotos(workshop)
    }
  }

  private func measurePhotos(_ workshop: Workshop) throws -> [Figure] {
    let photos = BesideAsset(workshop: workshop, count: photos, bytes: 5_000_000)
    return try photos.alone(rounds: rounds) + photos.measure()
  }

  private var bytes: Int { size * 1_000_000 }
}

/// Measures one long BLOB.
struct LongAsset {
  private let workshop: Workshop
  private let bytes: Int
  private let rounds: Int
  private let besides: Bool

  init(_ workshop: Workshop, _ bytes: Int, _ rounds: Int, _ besides: Bool) {
    (self.workshop, self.bytes, self.rounds, self.besides) = (workshop, bytes, rounds, besides)
  }

  private struct Times {
    var seconds: [Double] = []
    var staging: [Double] = []
    /// The time that plain SQLite needs to write it.
    var writing: [Double] = []
    var work: [Double] = []
    var memory: [Double] = []
  }

  func measure() throws -> [Figure] {
    var (ours, theirs, limit): (Times, Times, [Double]) = (Times(), Times(), [])
    for _ in 0..<rounds {
      limit.append(try CoreLimit.seconds(bytes: bytes))
      try measureOurs(&ours)
      if besides { try measureTheirs(&theirs) }
    }
    let name = "BLOB of \(bytes / 1_000_000) MB"
    let beside: (KeyPath<Times, [Double]>) -> Double? = { besides ? theirs[keyPath: $0].median : nil }
    return [
      Figure(
        what: "\(name), commit on A to visible on B / a file by Syncthing", ours: ours.seconds.median,
        theirs: beside(\.seconds), unit: "s", aim: besides ? .ratio(1) : .none),
      Figure(
        what: "\(name), the same / one core's AEAD and hash", ours: ours.seconds.median, theirs: limit.median,
        unit: "s",
        aim: .ratio(2)),
      Figure(
        what: "  of it until all is proven on B's disk / one core's AEAD and hash", ours: ours.staging.median,
        theirs: limit.median, unit: "s", aim: .none),
      Figure(
        what: "  of it the rest, the putting in place / plain SQLite's writing of it",
        ours: zip(ours.seconds, ours.staging).map { $0 - $1 }.median, theirs: ours.writing.median, unit: "s",
        aim: .none),
      Figure(
        what: "  of it processor time of both daemons / of both Syncthings", ours: ours.work.median,
        theirs: beside(\.work), unit: "s", aim: .none),
      Figure(
        what: "  most memory beyond idle, the larger of two daemons / of two Syncthings",
        ours: ours.memory.max() ?? .nan, theirs: besides ? theirs.memory.max() : nil, unit: "MiB", aim: .value(64)),
    ]
  }

  private func measureOurs(_ times: inout Times) throws {
    let run = try AssetRun(workshop)
    defer { run.end() }
    let contents: [Int64: Content] = [1: Content(size: bytes)]
    let memory = try run.watchMemory()
    let plain = Blobs(database: try Database(workshop.newPath("plain.db")))
    try plain.database.run(Blobs.schema)
    times.writing.append(try Machine.time { try plain.write(contents) })
    try run.write(contents)
    let work = try Machine.processorTime(run.processes)
    times.seconds.append(try Machine.time { times.staging.append(try run.waitForStaging(contents)) })
    times.work.append(try Machine.processorTime(run.processes) - work)
    try run.check(contents)
    // The figure includes the work that follows, in which the write-ahead log is copied into the file.
    times.memory += try memory.growth()
  }

  private func measureTheirs(_ times: inout Times) throws {
    let syncthing = try Syncthing(workshop: workshop)
    defer { syncthing.stop() }
    let memory = try PeakMemory(syncthing.processes)
    try syncthing.write([1: Content(size: bytes)])
    let work = try Machine.processorTime(syncthing.processes)
    times.seconds.append(
      try Machine.time {
        try syncthing.scan()
        try syncthing.waitForFiles(1)
      })
    times.work.append(try Machine.processorTime(syncthing.processes) - work)
    times.memory += try memory.growth()
  }
}

/// Measures many BLOBs that are just too long for a change set.
struct SmallAssets {
  private let workshop: Workshop
  private let count: Int
  private let besides: Bool
  private static let size = 20 << 10

  init(_ workshop: Workshop, _ count: Int, _ besides: Bool) {
    (self.workshop, self.count, self.besides) = (workshop, count, besides)
  }

  func measure() throws -> [Figure] {
    let contents = Dictionary(uniqueKeysWithValues: (1...count).map { (Int64($0), Content(size: Self.size)) })
    let run = try AssetRun(workshop)
    let memory = try run.watchMemory()
    let ours = try run.time(contents)
    let growth = try memory.growth().max() ?? .nan
    run.end()
    var theirs: Double?
    if besides {
      let syncthing = try Syncthing(workshop: workshop)
      defer { syncthing.stop() }
      try syncthing.write(contents)
      theirs = try Machine.time {
        try syncthing.scan()
        try syncthing.waitForFiles(count)
      }
    }
    let name = "\(count) BLOBs of \(Self.size >> 10) KiB"
    return [
      Figure(
        what: "\(name) in one transaction, all visible on B / files by Syncthing", ours: ours, theirs: theirs,
        unit: "s",
        aim: besides ? .ratio(1) : .none),
      Figure(
        what: "  most memory beyond idle, the larger of two daemons", ours: growth, unit: "MiB", aim: .value(64)),
    ]
  }
}

/// Measures one changed byte of a long BLOB.
struct ChangedAsset {
  private let workshop: Workshop
  private let bytes: Int
  private let besides: Bool
  /// The maximum in KiB: a whole chunk, the list of all chunks, and the row itself.
  private static let mostBytes = 512.0
  /// The position of the byte. It is near the beginning, because a reader has to step through the BLOB to reach it.
  private static let place = 1_000_000

  init(_ workshop: Workshop, _ bytes: Int, _ besides: Bool) {
    (self.workshop, self.bytes, self.besides) = (workshop, bytes, besides)
  }

  func measure() throws -> [Figure] {
    let content = Content(size: bytes)
    var changed = content
    changed.changedByte = Self.place
    let ours = try measureOurs(content, changed)
    let theirs = besides ? try measureTheirs(content, changed) : nil
    let name = "one byte of \(bytes / 1_000_000) MB changed"
    return [
      Figure(
        what: "\(name), sent for it / by Syncthing", ours: ours.bytes / 1024, theirs: theirs.map { $0.bytes / 1024 },
        unit: "KiB", aim: .value(Self.mostBytes)),
      Figure(
        what: "\(name), commit on A to visible on B / a file by Syncthing", ours: ours.seconds,
        theirs: theirs?.seconds, unit: "s", aim: .none),
    ]
  }

  private func measureOurs(_ content: Content, _ changed: Content) throws -> (bytes: Double, seconds: Double) {
    let run = try AssetRun(workshop)
    defer { run.end() }
    _ = try run.time([1: content])
    try run.a.wait()
    let before = try run.sentBytes(workshop)
    try run.write([1: changed])
    let seconds = try Machine.time { try run.waitForChange(1, changed) }
    try run.check([1: changed])
    return (try run.sentBytes(workshop) - before, seconds)
  }

  private func measureTheirs(_ content: Content, _ changed: Content) throws -> (bytes: Double, seconds: Double) {
    let syncthing = try Syncthing(workshop: workshop)
    defer { syncthing.stop() }
    try syncthing.write([1: content])
    try syncthing.scan()
    try syncthing.waitForFiles(1)
    let before = (bytes: try syncthing.sentBytes(), file: syncthing.number(1))
    try syncthing.write([1: changed])
    let seconds = try Machine.time {
      try syncthing.scan()
      try syncthing.waitForNewFile(1, than: before.file)
    }
    return (try syncthing.sentBytes() - before.bytes, seconds)
  }
}
