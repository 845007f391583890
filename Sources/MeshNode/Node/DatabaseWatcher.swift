@preconcurrency import Dispatch
import Glibc

/// Notices commits of other connections. The kernel's event on the WAL comes just before the commit can be seen, so an event
/// starts a few looks with growing gaps; a slow poll is the safety net.
struct DatabaseWatcher: Sendable {
  let node: Node

  /// After an event, in microseconds: together 45 ms, longer than an fsync takes on a disk that is not in trouble.
  private static let gaps: [Int] = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000]
  private static let poll = Duration.milliseconds(500)

  func run() async {
    let path = await node.databasePath
    let events = WriteEvents.of(path)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await pollSlowly() }
      group.addTask {
        for await _ in events { await lookSoon() }
      }
    }
  }

  private func lookSoon() async {
    for gap in Self.gaps {
      if await node.lookAtDatabase() || Task.isCancelled { return }
      try? await Task.sleep(for: .microseconds(gap))
    }
  }

  private func pollSlowly() async {
    while !Task.isCancelled {
      _ = await node.lookAtDatabase()
      try? await Task.sleep(for: Self.poll)
    }
  }
}

/// Writes to a database's files, as the kernel tells them (inotify on the directory, since the WAL comes and goes).
private enum WriteEvents {
  /// One element for any number of writes since the last was taken. Empty where the kernel can't watch: the poll remains.
  static func of(_ database: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      continuation.finish()
      return stream
    }
    let slash = database.lastIndex(of: "/") ?? database.startIndex
    let directory = slash == database.startIndex ? "/" : String(database[..<slash])
    let wal = String(database[database.index(after: slash)...]) + "-wal"
    guard inotify_add_watch(descriptor, directory, UInt32(IN_MODIFY | IN_CREATE)) >= 0 else {
      close(descriptor)
      continuation.finish()
      return stream
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
    source.setEventHandler { if drain(descriptor, names: wal) { continuation.yield() } }
    source.setCancelHandler { close(descriptor) }
    continuation.onTermination = { _ in source.cancel() }
    source.activate()
    return stream
  }

  /// Reads all events; true where one names the file.
  private static func drain(_ descriptor: Int32, names wanted: String) -> Bool {
    var found = false
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
      while true {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        while offset + MemoryLayout<inotify_event>.size <= count {
          let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          let start = offset + MemoryLayout<inotify_event>.size
          let name = buffer[start..<min(start + Int(event.len), count)].prefix { $0 != 0 }
          found = found || name.elementsEqual(wanted.utf8)
          offset = start + Int(event.len)
        }
      }
    }
    return found
  }
}
