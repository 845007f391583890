import ArgumentParser
import Dispatch

/// The figures of a node beside what runs under them, measured in one run on one machine: read the ratios, not the times.
@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures a node beside plain SQLite and a bare socket.",
    discussion: """
      Prints a line a figure: what, ours, theirs, the ratio, the aim, and whether it is met. Everything it starts runs in \
      a temporary directory, talks on loopback, and is stopped again.
      """,
    subcommands: [Measure.self, Assets.self, Writer.self, Contender.self, Echo.self], defaultSubcommand: Measure.self)
}

struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measure and print the figures.")

  @Option(help: "Rows of the bulk figures.")
  var rows = 100_000

  @Option(help: "Rounds whose median is printed.")
  var rounds = 5

  @Option(help: "Commits by each writer of the latency figures.")
  var commits = 500

  @Option(help: "The program to measure.")
  var mesh = Machine.siblingProgram("mesh")

  @Option(
    parsing: .upToNextOption, help: "Only these: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
  var only: [Part] = []

  @Flag(help: "Only the idle daemon, with 1,000,000 rows. The setting up takes minutes.")
  var idle = false

  @Flag(help: "Print JSON.")
  var json = false

  enum Part: String, CaseIterable, ExpressibleByArgument {
    case local, replicate, lock, latency, sizes, idle
  }

  func run() throws {
    let signals = Interruption.handle()
    defer { for source in signals { source.cancel() } }
    let workshop = try Workshop(mesh: mesh)
    defer { workshop.close() }
    var printer = FigurePrinter(json: json)
    if idle {
      printer.add(try IdleDaemon(workshop: workshop, rows: 1_000_000).measure())
    } else {
      try measure(workshop, &printer)
    }
    printer.finish()
  }

  private func measure(_ workshop: Workshop, _ printer: inout FigurePrinter) throws {
    let parts = only.isEmpty ? Part.allCases : only
    for part in parts {
      let figures =
        switch part {
        case .local: try LocalWrites(workshop: workshop, rows: rows, rounds: rounds).measure()
        case .replicate: try Replication(workshop: workshop, rows: rows, rounds: min(rounds, 3)).measure()
        case .lock: try WriteLock(workshop: workshop, rows: rows).measure()
        case .latency: try Latency(workshop: workshop, commits: commits).measure()
        case .sizes: try Sizes(workshop: workshop).measure()
        case .idle: try IdleDaemon(workshop: workshop, rows: rows).measure()
        }
      printer.add(figures)
    }
  }
}
