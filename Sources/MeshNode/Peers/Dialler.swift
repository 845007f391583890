import MeshCore
import MeshReplication
import MeshTransport

/// Keeps a session with every configured address: dials, serves, and dials again after a while.
struct Dialler: Sendable {
  let node: Node

  /// The duration after which a session counts as good. Then the next attempt comes soon.
  private static let goodSession = Duration.seconds(10)

  func run() async {
    await withDiscardingTaskGroup { group in
      var dialled: Set<HostPort> = []
      while !Task.isCancelled {
        for address in await wanted() where dialled.insert(address).inserted {
          group.addTask { await keep(address) }
        }
        await Beat.wait()
      }
    }
  }

  private func wanted() async -> [HostPort] {
    await node.withParts {
      if $0.database.suspension == nil { $0.addresses.forgetRevoked($0.database.replica) }
      return $0.addresses.wanted
    }
  }

  private func keep(_ address: HostPort) async {
    var failures = 0
    while !Task.isCancelled {
      guard await shouldDial(address) else {
        await Beat.wait()
        continue
      }
      let started = ContinuousClock.now
      await node.withParts { $0.addresses.dialBegins(address) }
      let reason = await session(address)
      await node.withParts { $0.addresses.dialEnded(address, reason) }
      failures = ContinuousClock.now - started > Self.goodSession ? 1 : failures + 1
      if await waitForRequest(for: address, within: Backoff.dial.delay(after: failures)) { failures = 0 }
    }
  }

  private func shouldDial(_ address: HostPort) async -> Bool {
    await node.withParts {
      $0.database.suspension == nil && $0.addresses.shouldDial(address, $0.database.replica)
    }
  }

  /// Waits. Returns true if the address is requested in the meantime.
  private func waitForRequest(for address: HostPort, within delay: Duration) async -> Bool {
    let end = ContinuousClock.now + delay
    while ContinuousClock.now < end, !Task.isCancelled {
      try? await Task.sleep(for: min(Beat.interval, end - ContinuousClock.now))
      if await node.withParts({ $0.addresses.takeRequest(for: address) }) { return true }
    }
    return false
  }

  private func session(_ address: HostPort) async -> String? {
    do {
      let link = try await node.transport.dial(host: address.host, port: Int(address.port))
      return await withTaskCancellationHandler {
        await node.serve(link, dialled: address)
      } onCancel: {
        link.close()
      }
    } catch {
      return error.message
    }
  }
}
