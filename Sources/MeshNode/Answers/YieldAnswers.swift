import Glibc
import MeshControl
import MeshCore
import MeshStore

/// Hands the node over to another process.
struct YieldAnswers: NodePart {
  let context: NodeContext

  /// The answer of a daemon.
  static func daemon(_ home: Home) -> Refusal {
    Refusal(
      code: "yield.daemon",
      message: "a daemon (process \(getpid())) serves \(home.path). Stop it first: kill \(getpid())")
  }

  /// Leaves the node to another process if an app runs it, unless only the app's functions make the schema work.
  func yield(to request: YieldRequest) throws -> YieldReport {
    let process = Int(getpid())
    guard let app = context.app else { throw Self.daemon(home) }
    if database.suspension == nil {
      let missing = try store.tables.functionsOfApp()
      guard missing.isEmpty else {
        throw Refusal(
          code: "yield.functions",
          message:
            "an app (process \(process)) runs the node of \(home.path), and only the app can: the schema calls "
            + "\(missing.map { "\(printable($0))()" }.joined(separator: ", ")), which mesh doesn't have. The app synchronizes the "
            + "database as long as it runs. To run mesh serve, remove these functions from the schema.")
      }
    }
    app.onYield(request.process)
    return YieldReport(process: process)
  }
}
