import Dispatch
import Foundation
import Synchronization

/// Cleans up when the benchmark is told to stop. The processes that it started end with it, and its directory is
/// removed.
enum Interruption {
  private struct Belongings {
    var processes: Set<Int32> = []
    var directory: String?
  }

  private static let belongings = Mutex(Belongings())

  static func note(process: Int32) { belongings.withLock { _ = $0.processes.insert(process) } }
  static func forget(process: Int32) { belongings.withLock { _ = $0.processes.remove(process) } }
  static func note(directory: String) { belongings.withLock { $0.directory = directory } }

  /// Handles the signals. The caller keeps the sources as long as it runs.
  static func handle() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { end(number) }
      source.resume()
      return source
    }
  }

  /// Ends the processes. Daemons get the time to end before their files are removed.
  private static func end(_ number: Int32) {
    let left = belongings.withLock { $0 }
    for process in left.processes { kill(process, SIGTERM) }
    let deadline = Machine.seconds() + patience
    while left.processes.contains(where: { kill($0, 0) == 0 }), Machine.seconds() < deadline { usleep(10_000) }
    if let directory = left.directory { try? FileManager.default.removeItem(atPath: directory) }
    exit(128 + number)
  }

  /// The longest wait in seconds, which is longer than a daemon takes to stop.
  private static let patience = 5.0
}
