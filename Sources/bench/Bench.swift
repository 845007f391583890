import ArgumentParser

/// Compares a node with the layers below it, measured in one run on one machine. Read the ratios, not the times.
@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures a node beside plain SQLite and a bare socket.",
    discussion: """
      Prints a line a figure: what, ours, theirs, the ratio, the floor, the aim, and whether it is met. The floor is the \
      ratio at which SQLite alone does the work that mesh cannot avoid. Everything it starts runs in a temporary \
      directory, talks on loopback, and is stopped again.
      """,
    subcommands: [Measure.self, Assets.self, Writer.self, Filler.self, Contender.self, Echo.self],
    defaultSubcommand: Measure.self)
}

struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measure and print the figures.")

  @Option(help: "Rows of the bulk figures.")
  var rows = 100_000

  @Option(help: "Rounds whose median is printed.")
  var rounds = 5

  @Option(help: "Commits by each writer of the latency figures, and inserts of each shell loop.")
  var commits = 500

  @Option(help: "Change sets that a device which was away merges.")
  var changeSets = 3_000

  @Option(help: "Rows of the node that `--only start` starts. The setting up takes minutes.")
  var startRows = 1_000_000

  @Option(help: "Rows that each of the 12 nodes of the crowd writes.")
  var crowdRows = 1_000

  @OptionGroup var setting: Setting<Part>

  @Flag(help: "Only the idle daemon, with 1,000,000 rows. The setting up takes minutes.")
  var idle = false

  enum Part: String, CaseIterable, ExpressibleByArgument {
    case local, replicate, catchup, conflicts, crowd, lock, locked, latency, sizes, idle, start
  }

  /// The parts to measure. The start is among them only if it is named.
  private var parts: [Part] { setting.only.isEmpty ? Part.allCases.filter { $0 != .start } : setting.only }

  func run() throws {
    try setting.measure { workshop, printer in
      if idle {
        printer.add(try IdleDaemon(workshop: workshop, rows: 1_000_000).measure())
      } else {
        for part in parts { printer.add(try measure(part, workshop)) }
      }
    }
  }

  private func measure(_ part: Part, _ workshop: Workshop) throws -> [Figure] {
    switch part {
    case .local: try CaptureCost(workshop: workshop, rows: rows, rounds: rounds).measure()
    case .replicate: try Replication(workshop: workshop, rows: rows, rounds: min(rounds, 3)).measure()
    case .catchup: try CatchUp(workshop: workshop, changeSets: changeSets, rounds: min(rounds, 3)).measure()
    case .conflicts: try ConflictMerge(workshop: workshop, rows: rows, rounds: min(rounds, 3)).measure()
    case .crowd: try Crowd(workshop: workshop, rows: crowdRows, rounds: min(rounds, 3)).measure()
    case .lock: try LockWaits(workshop: workshop, rows: rows).measure()
    case .locked: try LockedWriters(workshop: workshop, inserts: commits).measure()
    case .latency: try Latency(workshop: workshop, commits: commits).measure()
    case .sizes: try Sizes(workshop: workshop).measure()
    case .idle: try IdleDaemon(workshop: workshop, rows: rows).measure()
    case .start: try StartTime(workshop: workshop, rows: startRows, rounds: rounds).measure()
    }
  }
}
