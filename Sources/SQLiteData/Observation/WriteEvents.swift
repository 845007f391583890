import Dispatch
import Glibc
import Synchronization

/// Reports possible writes to a database file, from the kernel's events on the file and its WAL.
///
/// The event on a WAL comes just before the commit is visible, so each event starts a few checks with growing gaps. The
/// kernel doesn't see every write, so a slow poll covers missed events.
final class WriteEvents: Sendable {
  private enum Gaps {
    /// The gaps before checks that the next event doesn't interrupt, in microseconds.
    static let first: [UInt32] = [100, 200, 400, 800, 1_000]
    /// The gaps before the other checks, in milliseconds. Together they are longer than a commit takes on a healthy
    /// disk.
    static let later: [Int32] = [5, 10, 20]
  }

  /// The writing end of a pipe. Closing it stops the thread, which polls the other end.
  private let stopping: Int32

  /// Starts a thread that calls `look` whenever the file may have changed.
  ///
  /// - Parameter poll: The longest time between two checks without an event, in milliseconds, or -1 for no checks
  ///   without an event.
  init(database path: String, poll: Int32 = 500, look: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      stopping = -1
      return
    }
    // Otherwise a child process would keep the writing end open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // SQLite puts the WAL beside the file that a symbolic link leads to, and a program may change its directory.
    let path = Self.canonical(path)
    stopping = ends[1]
    let stopped = ends[0]
    // It gets its own thread, because it blocks.
    DispatchQueue(label: "SQLiteData.WriteEvents", qos: .userInitiated).async {
      Self.watch(path, poll, stopped, look)
      close(stopped)
    }
  }

  deinit {
    if stopping >= 0 { close(stopping) }
  }

  private static func canonical(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func watch(_ path: String, _ poll: Int32, _ stopped: Int32, _ look: () -> Void) {
    let events = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    defer { if events >= 0 { close(events) } }
    // The WAL is created and removed, so the directory is watched for new files as well.
    let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    if events >= 0 { _ = inotify_add_watch(events, directory, UInt32(IN_CREATE)) }
    var gaps: ArraySlice<Int32> = []
    while true {
      if events >= 0 {
        // In another journal mode than WAL, a database is written in place.
        for file in [path, path + "-wal"] { _ = inotify_add_watch(events, file, UInt32(IN_MODIFY)) }
      }
      switch wait(events, stopped, atMost: gaps.popFirst() ?? poll) {
      case .stopped: return
      case .timedOut: look()
      case .event:
        // The events are read first, so that an event during the checks starts others.
        drain(events)
        for gap in Gaps.first {
          usleep(gap)
          look()
        }
        gaps = Gaps.later[...]
      }
    }
  }

  private enum Wake { case event, timedOut, stopped }

  /// Waits for an event.
  ///
  /// - Parameter time: The longest time to wait, in milliseconds.
  private static func wait(_ events: Int32, _ stopped: Int32, atMost time: Int32) -> Wake {
    // The kernel skips a negative descriptor.
    var polled = [events, stopped].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let count = poll(&polled, nfds_t(polled.count), time)
    if polled[1].revents != 0 { return .stopped }
    return count > 0 ? .event : .timedOut
  }

  private static func drain(_ events: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      while read(events, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
