@preconcurrency import Dispatch
import Glibc
import MeshStore

/// Notices commits of other connections. The kernel's event on the WAL comes just before the commit is visible, so an
/// event starts a few checks with growing gaps. A slow poll covers missed events.
struct DatabaseWatcher: Sendable {
  let node: Node

  func run() async {
    while !Task.isCancelled {
      let opening = await node.withParts { $0.database.openings }
      let looks = WriteEvents.looks(at: await node.withParts { $0.database.store.place })
      // The watch lasts until the database is opened again, because its path may then be another.
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await pollSlowly(opening) }
        group.addTask {
          for await _ in looks {
            guard await look(opening) else { return }
          }
        }
      }
    }
  }

  private func pollSlowly(_ opening: Int) async {
    while !Task.isCancelled, await look(opening) { await Beat.wait() }
  }

  /// Checks the database. Returns false once it was opened again.
  private func look(_ opening: Int) async -> Bool {
    await node.withParts {
      $0.driver.lookAtDatabase()
      return $0.database.openings == opening
    }
  }
}

/// Writes to a database's WAL, as the kernel reports them. The directory is watched as well, because the WAL is created
/// and removed.
private enum WriteEvents {
  /// The gaps before checks that the next event doesn't interrupt, in microseconds. A transaction of many pages causes
  /// many events. The kernel merges unread events into one, so the thread wakes a few hundred times a second, and not
  /// for every page.
  private static let firstGaps: [UInt32] = [100, 200, 400, 800, 1_000]
  /// The gaps before the other checks, in milliseconds. Together they are longer than an fsync takes on a healthy disk.
  /// The node's own commits also cause events, which must not delay the check for the next commit of another program.
  private static let laterGaps: [Int32] = [5, 10, 20]

  /// Returns a stream with one element for each time to check. It is empty if the kernel can't watch, and then only the
  /// poll remains.
  static func looks(at database: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    let directory = database.lastIndex(of: "/").map { String(database[...$0]) } ?? "."
    // Closing one end tells the thread, which has the other, to stop.
    var ends: [Int32] = [-1, -1]
    // These are events about new files, and about the database itself when it is removed or replaced.
    let comings = UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
    guard descriptor >= 0, inotify_add_watch(descriptor, directory, comings) >= 0,
      pipe(&ends) == 0
    else {
      continuation.finish()
      close(descriptor)
      return stream
    }
    let (stopped, stopping) = (ends[0], ends[1])
    continuation.onTermination = { _ in close(stopping) }
    // It gets its own thread, because it blocks.
    DispatchQueue(label: "mesh.writes").async {
      watch(descriptor, database + "-wal", stopped, continuation)
      close(descriptor)
      close(stopped)
    }
    return stream
  }

  private static func watch(
    _ descriptor: Int32, _ wal: String, _ stopped: Int32, _ continuation: AsyncStream<Void>.Continuation
  ) {
    var gaps: ArraySlice<Int32> = []
    while true {
      // One watch is enough while the file is the same. The file may be missing.
      _ = inotify_add_watch(descriptor, wal, UInt32(IN_MODIFY))
      switch wait(descriptor, stopped, atMost: gaps.popFirst() ?? -1) {
      case .stopped: return
      case .timedOut: continuation.yield()
      case .event:
        // The events are read first, so that an event during the checks starts others.
        drain(descriptor)
        for gap in firstGaps {
          usleep(gap)
          continuation.yield()
        }
        gaps = laterGaps[...]
      }
    }
  }

  private enum Wake { case event, timedOut, stopped }

  /// Waits for an event.
  ///
  /// - Parameter time: The longest wait in milliseconds. A negative value means no limit.
  private static func wait(_ descriptor: Int32, _ stopped: Int32, atMost time: Int32) -> Wake {
    var polled = [descriptor, stopped].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let count = poll(&polled, nfds_t(polled.count), time)
    if polled[1].revents != 0 { return .stopped }
    return count > 0 ? .event : .timedOut
  }

  private static func drain(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
