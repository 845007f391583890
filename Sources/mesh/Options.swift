import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshNode

/// The option that selects the node. Every command has it.
struct HomeOption: ParsableArguments {
  @Option(
    name: .customLong("home"),
    help: ArgumentHelp(
      "The node's home directory.",
      discussion: "Without it: $MESH_HOME, else $XDG_STATE_HOME/mesh, else ~/.local/state/mesh.", valueName: "dir"))
  var directory: String?

  func path() throws -> String {
    try Home.path(option: directory, environment: ProcessInfo.processInfo.environment)
  }

  func open() throws -> Home { try Home.open(at: try path()) }

  /// Returns access to the node. Root may query another user's node while its daemon runs. Only the owner may open the
  /// home itself.
  func access() throws -> NodeAccess {
    let path = try path()
    if let visited = try Home.visited(at: path) { return NodeAccess(home: visited.home, owner: visited.owner) }
    return NodeAccess(home: try Home.open(at: path))
  }
}

extension ArgumentHelp {
  /// The help of the key argument of every command about a record.
  static let key = ArgumentHelp(
    "The primary key, as the row shows it: n1, 7, 1.5. Quote it as in SQL: '1' is the text, x'0a1b' a BLOB.",
    discussion: "If it begins with a dash, put it after -- and after all options.")
}

/// The flag of every command that prints facts.
struct JSONFlag: ParsableArguments {
  @Flag(
    name: .customLong("json"), help: "Print one JSON object instead of text. An error is one too, on standard error.")
  var isOn = false
}

/// The option of `verify` and `wait`.
struct TimeoutOption: ParsableArguments {
  @Option(
    name: .customLong("timeout"), parsing: .unconditional,
    help: ArgumentHelp("How long to wait: 90s, 15m, 2h. (default: 60s)", valueName: "duration"),
    transform: Duration.init(text:))
  var duration = Duration.controlTimeout
}
