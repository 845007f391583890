import MeshCore
import MeshReplication
import MeshTransport

/// Keeps a session with every configured address: dials, serves, and dials again after a pause.
struct Dialler: Sendable {
  let node: Node

  func run() async {
    await withDiscardingTaskGroup { group in
      var dialled: Set<HostPort> = []
      while !Task.isCancelled {
        for address in await wanted() where dialled.insert(address).inserted {
          group.addTask { await keep(address) }
        }
        await Beat.wait(period: 2)
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
    while !Task.isCancelled {
      guard await shouldDial(address) else {
        await Beat.wait(period: 2)
        continue
      }
      await node.withParts { $0.addresses.dialBegins(address) }
      let end = await session(address)
      await pause(address, for: node.withParts { $0.addresses.dialEnded(address, end) })
    }
  }

  private func shouldDial(_ address: HostPort) async -> Bool {
    await node.withParts {
      $0.database.suspension == nil && $0.addresses.shouldDial(address, $0.database.replica)
    }
  }

  /// Waits before the next attempt, at most until the address is requested.
  private func pause(_ address: HostPort, for pause: Duration) async {
    let end = ContinuousClock.now + pause
    while ContinuousClock.now < end, !Task.isCancelled {
      try? await Task.sleep(for: min(Beat.interval, end - ContinuousClock.now))
      if await node.withParts({ $0.addresses.takeRequest(for: address) }) { return }
    }
  }

  private func session(_ address: HostPort) async -> ConnectionEnd {
    do {
      let link = try await node.transport.dial(host: address.host, port: Int(address.port))
      return await withTaskCancellationHandler {
        await node.serve(link, dialled: address)
      } onCancel: {
        link.close()
      }
    } catch {
      return ConnectionEnd(reason: error.message)
    }
  }
}
