// This file contains the code of the MeshNode page about an app with a node. A test compares them line by line.

import Logging
import MeshControl
import MeshNode
import ServiceLifecycle

/// Makes a node for the database, and synchronizes its table. An app does this once.
func makeNode(home path: String, database: String) async throws {
  let home = try Home.create(at: path)
  let lock = try home.lock(as: .verb)
  defer { lock.release() }
  let options = InitOptions(database: database, accountName: "alice", deviceName: "tower")
  _ = try await NodeOpener().initialize(options, home: home, lock: lock) { print($0) }
  let node = try await NodeOpener().local(home: home, lock: lock)
  _ = try await node.perform(TrackRequest(tables: ["notes"]))
}

/// Runs the node while `body` runs, which can ask it anything.
func withNode(home path: String, listen: HostPort? = nil, body: (any NodeControl) async throws -> Void) async throws {
  let home = try Home.open(at: path)
  let lock = try home.lock(as: .daemon)
  defer { lock.release() }
  let logger = Logger(label: "notes")
  let daemon = try await NodeOpener().daemon(
    home: home, lock: lock, options: ServeOptions(listen: listen), logger: logger)
  let socket = ControlServer(node: daemon.control, home: home, logger: logger)
  let services = ServiceGroup(services: daemon.services + [socket], logger: logger)
  async let running: Void = services.run()
  do {
    try await body(daemon.control)
  } catch {
    // Otherwise the end of this function would cancel the services before they have closed their connections.
    await services.triggerGracefulShutdown()
    try? await running
    throw error
  }
  await services.triggerGracefulShutdown()
  try await running
}
