import Foundation
import SQLiteData

@main
enum RemindersCommand {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.first != "--help" else {
      print(
        """
        usage: reminders [DATABASE [HOST:PORT]]

        HOST:PORT is where your other machines reach this one, by default 0.0.0.0:7404.

        Then type commands:

        \(RemindersProgram.help)
        """)
      return
    }
    do {
      try prepareDependencies {
        $0.defaultDatabase = try appDatabase(path: arguments.first)
        $0.defaultSyncEngine = try appSyncEngine(for: $0.defaultDatabase, listen: arguments.dropFirst().first)
      }
    } catch {
      FileHandle.standardError.write(Data("reminders: can't open the database: \(error)\n".utf8))
      exit(1)
    }
    // Written at once, also into a pipe, where `print` would wait for more.
    await RemindersProgram { FileHandle.standardOutput.write(Data("\($0)\n".utf8)) }.run(lines())
  }

  /// The lines that a person types.
  private static func lines() -> AsyncStream<String> {
    let (lines, continuation) = AsyncStream<String>.makeStream()
    // A thread of its own, because it blocks.
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return lines
  }
}
