import MeshStore

/// Notices commits of other connections, by the kernel's events. A slow poll covers missed events.
struct DatabaseWatcher: Sendable {
  let node: Node

  func run() async {
    while !Task.isCancelled {
      let opening = await node.withParts { $0.database.openings }
      let (looks, due) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
      // The watch lasts until the database is opened again, because its path may then be another.
      let events = WriteEvents(database: await node.withParts { $0.database.store.place }, poll: nil) { due.yield() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await pollSlowly(opening) }
        group.addTask {
          for await _ in looks {
            guard await look(opening) else { return }
          }
        }
      }
      events.stop()
    }
  }

  private func pollSlowly(_ opening: Int) async {
    while !Task.isCancelled, await look(opening) { await Beat.wait(period: 2) }
  }

  /// Checks the database. Returns false once it was opened again.
  private func look(_ opening: Int) async -> Bool {
    await node.withParts {
      $0.driver.lookAtDatabase()
      return $0.database.openings == opening
    }
  }
}
