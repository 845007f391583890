import Dispatch
import Glibc
import Synchronization

/// Reports possible writes to a database file, from the kernel's events on the file and its WAL.
///
/// The event on a WAL comes just before the commit is visible, so each event starts a few checks with growing gaps. The
/// kernel doesn't see every write, so a slow poll covers missed events.
package final class WriteEvents: Sendable {
  private enum Gaps {
    /// The gaps before checks that the next event doesn't interrupt, in microseconds. A transaction of many pages causes
    /// many events. The kernel merges unread events into one, so the thread wakes a few hundred times a second, and not
    /// for every page.
    static let first: [UInt32] = [100, 200, 400, 800, 1_000]
    /// The gaps before the other checks, in milliseconds. Together they are longer than an fsync takes on a healthy disk.
    /// The watching process's own commits also cause events, which must not delay the check for the next commit of
    /// another program.
    static let later: [Int32] = [5, 10, 20]
  }

  /// The writing end of a pipe, or nil once it is closed. Closing it stops the thread, which polls the other end.
  private let stopping: Mutex<Int32?>

  /// Starts a thread that calls `look` whenever the file may have changed.
  ///
  /// - Parameter poll: The longest time between two checks without an event, in milliseconds, or nil for no checks
  ///   without an event.
  package init(database path: String, poll: Int32? = 500, look: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      stopping = Mutex(nil)
      return
    }
    // Otherwise a child process would keep the writing end open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // SQLite puts the WAL beside the file that a symbolic link leads to, and a program may change its directory.
    let path = Self.canonical(path)
    stopping = Mutex(ends[1])
    let stopped = ends[0]
    // It gets its own thread, because it blocks.
    DispatchQueue(label: "mesh.writes", qos: .userInitiated).async {
      Self.watch(path, poll ?? -1, stopped, look)
      close(stopped)
    }
  }

  deinit { stop() }

  /// Ends the thread. A check that has begun goes on.
  package func stop() {
    stopping.withLock { end in
      if let open = end { close(open) }
      end = nil
    }
  }

  private static func canonical(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func watch(_ path: String, _ poll: Int32, _ stopped: Int32, _ look: () -> Void) {
    let events = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    defer { if events >= 0 { close(events) } }
    // The WAL is created and removed, and the database may be moved or replaced, so the directory is watched as well.
    let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let changes = UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
    if events >= 0 { _ = inotify_add_watch(events, directory, changes) }
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
