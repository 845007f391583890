import ArgumentParser
import FoundationEssentials
import MeshNode

/// Which node a verb is about; every verb takes it.
struct HomeOption: ParsableArguments {
  @Option(
    name: .customLong("home"),
    help: ArgumentHelp(
      "The node's home directory.",
      discussion: "Otherwise MESH_HOME, $XDG_STATE_HOME/mesh, or ~/.local/state/mesh.", valueName: "dir"))
  var directory: String?

  func path() throws -> String {
    try Home.path(option: directory, environment: ProcessInfo.processInfo.environment)
  }

  func open() throws -> Home { try Home.open(at: try path()) }

  /// Root may look at another user's node while its daemon runs; whatever opens the home itself runs as the owner.
  func access() throws -> NodeAccess {
    let path = try path()
    if let visited = try Home.visited(at: path) { return NodeAccess(home: visited.home, owner: visited.owner) }
    return NodeAccess(home: try Home.open(at: path))
  }
}

extension ArgumentHelp {
  /// Of every verb that is about a record.
  static let key = ArgumentHelp(
    "The primary key: n1, 7, 1.5, as its column has it. In quotes as in SQL: '1' is the text, x'0a1b' a BLOB.",
    discussion: "One that begins with a dash goes behind --, after all options.")
}

/// Every verb that prints facts takes it.
struct JSONFlag: ParsableArguments {
  @Flag(name: .customLong("json"), help: "Print one JSON object instead of text.")
  var isOn = false
}

/// `verify` and `wait` take it.
struct TimeoutOption: ParsableArguments {
  @Option(
    name: .customLong("timeout"),
    help: ArgumentHelp("How long to wait: 90s, 15m, 2h. (default: 60s)", valueName: "duration"),
    transform: Duration.init(text:))
  var duration = ControlDefaults.timeout
}
