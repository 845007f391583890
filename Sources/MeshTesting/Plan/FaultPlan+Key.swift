extension FaultPlan {
  /// A field of a plan, and its name in JSON. Plans are read, written, explained and shrunk with `Key.all`.
  package struct Key {
    /// The key, as `section.name`, or a name at the top level.
    package let path: String
    package let summary: String
    let kind: Kind
    /// The greatest value that makes sense. The least is 0 unless the kind says otherwise.
    let bounds: ClosedRange<Int>
    /// The occasions that a chance counts.
    var unit = "steps"
  }
}

extension FaultPlan.Key {
  enum Kind {
    /// A chance of one in this number. 0 means never and switches the fault off.
    case chance(WritableKeyPath<FaultPlan, Int>)
    case number(WritableKeyPath<FaultPlan, Int>)
    case span(WritableKeyPath<FaultPlan, ClosedRange<Int>>)
    case flag(WritableKeyPath<FaultPlan, Bool>)
    case topology
  }

  /// The form of a value.
  package var form: String {
    switch kind {
    case .chance: "one in that many \(unit), 0 for never"
    case .number: "\(bounds.lowerBound) to \(bounds.upperBound)"
    case .span: "[least, greatest] from \(bounds.lowerBound) to \(bounds.upperBound)"
    case .flag: "true or false"
    case .topology: FaultPlan.Topology.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    }
  }

  /// A day, which is longer than any run.
  private static let longest = 24 * 3_600_000

  package static var all: [Self] {
    [number("pause", \.pause, 1...longest, "milliseconds between two steps at most")] + network + clocks + nodes + disk
      + historyKeys + writers + assetKeys + shareKeys + liarKeys
  }

  private static var network: [Self] {
    [
      Self(
        path: "network.topology",
        summary: "who knows whose address: line, random, or regular (a ring and random links)",
        kind: .topology, bounds: 0...0),
      number("network.degree", \.degree, 2...32, "links of a node on average, if the topology is regular"),
      span("network.latency", \.latency, 0...longest, "milliseconds from one end to the other"),
      number("network.jitter", \.jitter, 0...longest, "milliseconds that a message may be late beyond the latency"),
      chance("network.slowLinks", \.slowLinks, of: "connections", "a connection is slow"),
      span("network.slowRate", \.slowRate, 1...100_000, "bytes that a slow connection carries in a millisecond"),
      chance(
        "network.doubleDials", \.doubleDials, of: "dials to a connected peer",
        "a node dials a peer that is connected already"),
      chance("network.cuts", \.cuts, "a connection is cut, and both ends notice"),
      chance("network.silentCuts", \.silentCuts, "a connection is cut, and neither end notices before its time-out"),
      chance("network.stalls", \.stalls, "a connection carries nothing for a while, and then all of it"),
      span("network.stallTime", \.stallTime, 1...longest, "milliseconds of a stall"),
      chance("network.partitions", \.partitions, "two sides, drawn at random, can't reach each other"),
      chance("network.oneWayPartitions", \.oneWayPartitions, "what one side sends does not reach the other"),
      span("network.partitionTime", \.partitionTime, 1...longest, "milliseconds of a partition"),
    ]
  }

  private static var clocks: [Self] {
    [
      number("clock.error", \.clockError, 0...longest, "milliseconds by which a clock is ahead or behind at most"),
      chance("clock.jumps", \.clockJumps, "a clock jumps to another error"),
    ]
  }

  private static var nodes: [Self] {
    [
      Self(
        path: "nodes.meetGradually", summary: "a node knows the first device's certificate and its own, at first",
        kind: .flag(\.meetsGradually), bounds: 0...1),
      chance("nodes.kills", \.kills, "the process is killed; what it wrote is there"),
      chance("nodes.powerCuts", \.powerCuts, "the power goes; what was not synced is kept, lost or torn by sectors"),
      chance("nodes.deaths", \.deaths, "a kill or a power cut in one of the next storage operations"),
      span("nodes.deathWithin", \.deathWithin, 1...1_000_000, "how many storage operations later"),
      chance("nodes.restarts", \.restarts, "the process ends in good order and starts again"),
      span("nodes.downTime", \.downTime, 1...longest, "milliseconds until a node starts again"),
      chance("nodes.pauses", \.pauses, "the process does nothing for a while"),
      span("nodes.pauseTime", \.pauseTime, 1...longest, "milliseconds of a pause"),
      chance("nodes.rescans", \.rescans, "a node compares all rows with what is merged"),
      chance("nodes.revocations", \.revocations, "the first device revokes another; at most a third of them"),
    ]
  }

  private static var disk: [Self] {
    [
      chance("disk.errors", \.diskErrors, "the disk fails operations for a while, or one if the time is 0"),
      span("disk.errorTime", \.diskErrorTime, 0...longest, "milliseconds for which the disk fails"),
      number("disk.errorRate", \.diskErrorRate, 1...1_000, "one operation in that many fails then"),
      chance("disk.full", \.fullDisks, "the disk is full for a while"),
      span("disk.fullTime", \.fullDiskTime, 1...longest, "milliseconds for which it is full"),
      number("disk.fullRate", \.fullDiskRate, 1...1_000, "one write in that many finds no room then"),
    ]
  }

  private static var historyKeys: [Self] {
    [
      chance("history.restores", \.restores, "an older copy of a node's database takes its place"),
      chance("history.liveRestores", \.liveRestores, "the same while the node runs, into the open file"),
      chance("history.homeRestores", \.homeRestores, "the home goes back as well, with all that it remembers"),
      chance("history.fileCopies", \.fileCopies, "a node gets a copy of another one's database"),
      chance("history.homeCopies", \.homeCopies, "a node's home and database run twice"),
    ]
  }

  private static var writers: [Self] {
    [
      chance("writers.foreignKeysOff", \.foreignKeysOff, of: "apps", "an app has foreign keys off"),
      chance("writers.whileDown", \.writesWhileDown, of: "steps at a node that is down", "an app writes"),
      chance("writers.together", \.together, "all apps write the same rows in the same millisecond"),
      chance("writers.interruptions", \.interruptions, "an app writes within a piece of its node's work"),
      chance("writers.hasty", \.hasty, "an app writes or shares between two pieces of its node's work"),
      chance("writers.bulk", \.bulkWrites, of: "writes", "a write is of many records"),
      span("writers.bulkSize", \.bulkSize, 1...20_000, "records of such a write"),
      chance("writers.counts", \.counts, of: "writes", "a write is to a column with a policy"),
      chance("writers.longValues", \.longValues, of: "writes", "a write has a long value"),
      span("writers.longSize", \.longSize, 1...4_000_000, "bytes of a long value"),
      chance("writers.badTriggers", \.badTriggers, of: "apps", "an app has a trigger without a guard"),
      chance("writers.addedColumns", \.addedColumns, "a node's app adds a column to a table"),
      chance("writers.droppedColumns", \.droppedColumns, "a node's app drops a column"),
      chance("writers.readdedColumns", \.readdedColumns, "a node's app drops a column and adds it again at once"),
      chance("writers.renamedColumns", \.renamedColumns, "a node's app renames a column"),
      chance("writers.alterations", \.alterations, "a node's app makes a table again, with its rows"),
      chance("writers.constraints", \.constraints, "a node's table gets a CHECK or a NOT NULL, or loses it"),
      chance("writers.uniques", \.uniques, "a node's table gets a UNIQUE index, or loses it"),
      chance("writers.references", \.references, "a node's table gets a second foreign key, or loses it"),
      chance(
        "writers.recreatedTables", \.recreatedTables, "a node's app drops a table, and makes it again at once or later"),
      chance("writers.renamedTables", \.renamedTables, "a node's app renames a table, or gives it its name back"),
      chance(
        "writers.spellings", \.spellings, of: "apps", "an app spells names and orders columns in its own way"
      ),
      chance("writers.untrackedTables", \.untrackedTables, "a node untracks a table, or tracks it again"),
      chance("writers.olderCopies", \.olderCopies, of: "nodes", "a node has rows before it tracks their table"),
    ]
  }

  private static var assetKeys: [Self] {
    [
      chance("assets.photos", \.photos, of: "writes", "a write has a BLOB that others may have as well"),
      chance("assets.policies", \.assetPolicies, "a node fetches a table's BLOBs always, or on demand, from now on"),
      chance("assets.fetches", \.assetFetches, "somebody asks for a BLOB that a row lacks"),
      chance("assets.evictions", \.assetEvictions, "a BLOB is evicted, if another node has it"),
    ]
  }

  private static var shareKeys: [Self] {
    [
      number("accounts.count", \.accounts, 1...8, "accounts that the nodes belong to; liars have one of their own"),
      chance("shares.creates", \.shareCreates, "a node makes a share of a record of its account"),
      chance("shares.invites", \.shareInvites, "a device of an owner makes an invite, and others try to join by it"),
      chance("shares.uninvites", \.shareUninvites, "an invite is revoked"),
      chance("shares.permissions", \.sharePermissions, "a participant may write from now on, or only read"),
      chance("shares.flaps", \.shareFlaps, "the same, several times in a row"),
      chance("shares.removals", \.shareRemovals, "a participant is removed"),
      chance("shares.leaves", \.shareLeaves, "a participant leaves"),
      chance("shares.stops", \.shareStops, "a share is ended by its owner"),
      chance(
        "shares.rootDeletes", \.rootDeletes, "an app deletes the root record of a share, its account's or another's"),
      chance("shares.bypasses", \.bypasses, "an app drops the triggers and writes to a share that is read-only"),
      chance(
        "shares.keptCopies", \.keptCopies, of: "nodes", "a node keeps copies of shares that end for it"),
    ]
  }

  private static var liarKeys: [Self] {
    [
      number("liars.count", \.liars, 0...64, "the last nodes lie: so many of them"),
      chance("liars.forgeries", \.forgeries, "a change set in another's name, or altered by a relay"),
      chance("liars.truncations", \.truncations, "a message that ends too early"),
      chance("liars.forks", \.forks, "two change sets with one number, one to each peer"),
      chance("liars.replays", \.replays, "something that was sent before"),
      chance("liars.gaps", \.gaps, "a number that nothing leads to"),
      chance("liars.brokenChains", \.brokenChains, "a number after a change set that nobody has"),
      chance("liars.farFuture", \.farFutures, "a time hours ahead"),
      chance(
        "liars.wrongChunks", \.wrongChunks, "a chunk of an asset that is altered, or kept back though it was promised"),
      chance("liars.generations", \.generations, "a generation at the bound that its time allows, or above it"),
      chance("liars.floods", \.floods, "more messages than anybody asked for"),
      chance("liars.contexts", \.contexts, "a causal past that nobody has, or that names its own author"),
      chance("liars.forgedHeads", \.forgedHeads, "heads of others' logs that nobody has signed"),
      chance("liars.unknownTables", \.unknownTables, "records of tables that nobody has"),
      chance("liars.crowds", \.crowds, "what dozens of devices and instances of its account write"),
      chance(
        "liars.certificates", \.certificateFloods,
        "as many certificates as an account can have, others for each peer, and revocations"),
      chance("liars.relays", \.relays, "what others signed, in another order, twice, or for another zone"),
      chance("liars.schemas", \.hostileSchemas, "a table that is reserved, private, contradictory or wide"),
      chance("liars.clocks", \.clockLies, "a wrong time, told to devices of other accounts"),
      chance("liars.overreaches", \.overreaches, "a change set in a share that it may not write, or not any more"),
      chance(
        "liars.controlForgeries", \.controlForgeries, "a control record that it may not write, or one in another's name"
      ),
      chance("liars.oldEpochs", \.oldEpochs, "a change set under the key of an epoch that is over"),
      chance("liars.keyLeaks", \.keyLeaks, "a share's keys, given to all connected devices"),
      chance("liars.revokedWrites", \.revokedWrites, "what a revoked device says, by who has its keys"),
    ]
  }

  private static func chance(
    _ path: String, _ field: WritableKeyPath<FaultPlan, Int>, of unit: String = "steps", _ summary: String
  ) -> Self {
    Self(path: path, summary: summary, kind: .chance(field), bounds: 0...1_000_000, unit: unit)
  }

  private static func number(
    _ path: String, _ field: WritableKeyPath<FaultPlan, Int>, _ bounds: ClosedRange<Int>, _ summary: String
  ) -> Self {
    Self(path: path, summary: summary, kind: .number(field), bounds: bounds)
  }

  private static func span(
    _ path: String, _ field: WritableKeyPath<FaultPlan, ClosedRange<Int>>, _ bounds: ClosedRange<Int>, _ summary: String
  ) -> Self {
    Self(path: path, summary: summary, kind: .span(field), bounds: bounds)
  }

  // MARK: Keys without effect

  private static let ends = [
    "nodes.kills", "nodes.powerCuts", "nodes.deaths", "nodes.restarts", "history.restores", "history.homeRestores",
    "history.liveRestores", "history.fileCopies", "history.homeCopies",
  ]
  private static let longBLOBs = ["writers.longValues", "assets.photos"]

  /// Groups of keys. If a key of each group is on, the key has an effect.
  var needs: [[String]] {
    switch path {
    case "network.degree": [["network.topology"]]
    case "network.slowRate": [["network.slowLinks"]]
    case "network.stallTime": [["network.stalls"]]
    case "network.partitionTime": [["network.partitions", "network.oneWayPartitions"]]
    case "clock.jumps": [["clock.error"]]
    case "nodes.deathWithin": [["nodes.deaths"]]
    case "nodes.downTime", "writers.whileDown": [Self.ends]
    case "nodes.pauseTime": [["nodes.pauses"]]
    case "disk.errorTime", "disk.errorRate": [["disk.errors"]]
    case "disk.fullTime", "disk.fullRate": [["disk.full"]]
    case "writers.bulkSize": [["writers.bulk"]]
    case "writers.longSize", "assets.policies", "assets.fetches", "assets.evictions": [Self.longBLOBs]
    case "liars.wrongChunks": [["liars.count"], Self.longBLOBs]
    case "shares.creates": [["accounts.count"]]
    case "liars.clocks", "liars.certificates": [["liars.count"], ["accounts.count"]]
    case "liars.overreaches", "liars.controlForgeries", "liars.oldEpochs", "liars.keyLeaks":
      [["liars.count"], ["accounts.count"], ["shares.creates"]]
    case "liars.revokedWrites":
      [["liars.count"], ["accounts.count"], ["shares.creates"], ["nodes.revocations"]]
    case _ where path.hasPrefix("shares."): [["accounts.count"], ["shares.creates"]]
    case _ where path.hasPrefix("liars.") && path != "liars.count": [["liars.count"]]
    default: []
    }
  }

  /// Whether the fault needs a disk, a schema or shares, which the model store doesn't have.
  var needsFile: Bool {
    let writers = ["whileDown", "together", "hasty", "bulk", "bulkSize", "longValues", "longSize"].map {
      "writers.\($0)"
    }
    return path.hasPrefix("disk.") || path.hasPrefix("history.")
      || path.hasPrefix("writers.") && !writers.contains(path)
      || [
        "accounts.count", "nodes.rescans", "nodes.deathWithin", "assets.policies", "assets.fetches", "assets.evictions",
      ].contains(path)
  }
}
