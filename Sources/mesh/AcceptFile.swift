import ArgumentParser
import MeshControl
import MeshCore
import MeshNode

struct AcceptFile: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Use the file that has taken the place of the database.",
    discussion: """
      If the file at the database's path has nothing of mesh, the node doesn't touch it, and synchronizes nothing. It may be \
      another program's file, or a copy from before mesh init. This command says that it is the right one. Then track its \
      tables: the rows of other devices come back. If a row of the file differs from theirs, mesh conflicts lists its values.

      Examples:
        mesh accept-file
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  /// The longest wait for a daemon to open the file.
  private static let patience = Duration.seconds(10)
  private static let poll = Duration.milliseconds(100)

  /// Waits until the node has opened the file.
  private static func open(_ access: NodeAccess) async throws {
    let deadline = ContinuousClock.now + patience
    while true {
      do {
        _ = try await access.perform(AccountRequest())
        return
      } catch let error as any Refusing where error.refusal.code == "database.other" && ContinuousClock.now < deadline {
        try await Task.sleep(for: poll)
      }
    }
  }

  func run() async throws {
    let access = try home.access()
    let (path, isNew) = try access.home.acceptDatabase()
    try await ProgressLine.during("opening \(printable(path))") { try await Self.open(access) }
    if json.isOn { return try Output.json(AcceptFileReport(database: path)) }
    Output.print(
      isNew
        ? "The node uses \(printable(path)). Next: mesh schema, and mesh track TABLE…"
        : "The node uses \(printable(path)) already.")
  }
}

/// The database that the node uses now.
private struct AcceptFileReport: Encodable {
  let database: String
}
