import Foundation
import Synchronization

/// The result of a process.
struct Finished: Sendable {
  /// The exit code, or the negative number of the signal that ended it.
  let status: Int32
  let stdout: String
  let stderr: String
}

/// A started process, with its output in files, so that no pipe can fill up.
///
/// It is started by `posix_spawn`. Foundation's `Process` on Linux sometimes causes a bad memory access if several
/// start at once.
final class Child: Sendable {
  let pid: Int32
  private let logs: String
  /// The status, set once when the process has ended and was waited for.
  private let status = Mutex<Int32?>(nil)
  /// The pipe from which the process reads, if its input comes bit by bit.
  private let pipe: FileHandle?

  /// Starts a process.
  ///
  /// - Parameters:
  ///   - executable: The program, or nil for the built `mesh`.
  ///   - input: The whole input, or nil if it comes from `type`.
  init(
    executable: String? = nil, arguments: [String], input: String?, environment: [String: String], logs: String
  ) throws {
    self.logs = logs
    let executable = try executable ?? Self.binary()
    let place = URL(fileURLWithPath: "\(logs).in")
    if let input {
      try Data(input.utf8).write(to: place)
      pipe = nil
    } else {
      guard mkfifo(place.path, 0o600) == 0 else { throw Unexpected("no pipe at \(place.path)") }
      // Open in both directions, so that neither side waits for the other.
      pipe = try FileHandle(forUpdating: place)
    }
    pid = try Self.spawn([executable] + arguments, environment.map { "\($0)=\($1)" }, logs: logs)
  }

  private static func spawn(_ arguments: [String], _ environment: [String], logs: String) throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "\(logs).in", O_RDONLY, 0)
    for (descriptor, suffix) in [(STDOUT_FILENO, "out"), (STDERR_FILENO, "err")] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "\(logs).\(suffix)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    }
    // Otherwise sockets and pipes of other tests would stay open while the child lives, and their peers would wait for
    // it.
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      if let descriptor = Int32(name), descriptor > STDERR_FILENO {
        posix_spawn_file_actions_addclose(&actions, descriptor)
      }
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The threads of this process block the signals for which a daemon waits.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var argv = arguments.map { strdup($0) } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    var pid: pid_t = 0
    let error = posix_spawnp(&pid, arguments[0], &actions, &attributes, &argv, &envp)
    guard error == 0 else { throw Unexpected("\(arguments[0]) does not start: \(String(cString: strerror(error)))") }
    return pid
  }

  private var ended: Int32? {
    status.withLock { status in
      var word: Int32 = 0
      if status == nil, waitpid(pid, &word, WNOHANG) == pid {
        let signal = word & 0x7f
        status = signal == 0 ? word >> 8 & 0xff : -signal
      }
      return status
    }
  }

  /// The result, or nil while the process runs.
  var result: Finished? {
    ended.map { Finished(status: $0, stdout: output, stderr: log) }
  }

  /// The output so far.
  var output: String { text("out") }
  var log: String { text("err") }

  private func text(_ suffix: String) -> String {
    String(decoding: FileManager.default.contents(atPath: "\(logs).\(suffix)") ?? Data(), as: UTF8.self)
  }

  /// Writes a line to the input.
  func type(_ line: String) throws { try pipe?.write(contentsOf: Data("\(line)\n".utf8)) }

  /// Waits for the end. A late process is killed, and the error contains its output.
  func finished(within limit: Duration) async throws -> Finished {
    do {
      try await eventually("the process ends", within: limit) { ended != nil }
    } catch {
      await kill()
      throw Unexpected("\(error); it said: \(output) \(log)")
    }
    guard let result else { throw Unexpected("no result") }
    return result
  }

  /// Kills the process like a crash, so that no handler runs. Returns once the process is gone.
  func kill() async {
    send(SIGKILL)
    try? await eventually("the process is gone") { ended != nil }
  }

  /// Asks the process to stop in order, and waits.
  func terminate() async throws -> Finished {
    send(SIGTERM)
    return try await finished(within: MeshProcess.deadline)
  }

  /// Sends a signal. Returns after `SIGSTOP` once all threads have stopped: one may still end a call of the system, and
  /// take a lock in it.
  func send(_ signal: Int32) {
    guard ended == nil else { return }
    Foundation.kill(pid, signal)
    let deadline = ContinuousClock.now + .seconds(5)
    while signal == SIGSTOP, !isStopped, ContinuousClock.now < deadline { usleep(1_000) }
  }

  private var isStopped: Bool {
    let tasks = "/proc/\(pid)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    return threads.allSatisfy { thread in
      // The state follows the name, which is in parentheses.
      let status = (try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)) ?? ""
      return status.split(separator: ")").last?.first { $0 != " " }.map { "TtZX".contains($0) } ?? true
    }
  }

  /// Returns the path of a program: beside the test bundle, or in the build directory of this package.
  static func binary(_ name: String = "mesh") throws -> String {
    let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let places = [beside.appendingPathComponent(name).path, "\(MeshProcess.root)/.build/debug/\(name)"]
    guard let place = places.first(where: FileManager.default.isExecutableFile) else {
      throw Unexpected("no \(name) at \(places)")
    }
    return place
  }
}
