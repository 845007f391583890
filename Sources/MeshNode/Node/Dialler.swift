import MeshCore
import MeshReplication
import MeshTransport

/// Keeps a session with every configured address: dials, serves, and dials again after a while.
struct Dialler: Sendable {
  let node: Node

  /// A session that lasted so long was a good one: the next try comes soon.
  private static let goodSession = Duration.seconds(10)
  /// Between two looks at whether an address is wanted and its device not connected.
  private static let look = Duration.milliseconds(500)

  func run() async {
    await withDiscardingTaskGroup { group in
      var dialled: Set<HostPort> = []
      while !Task.isCancelled {
        for address in await node.wantedPeers where dialled.insert(address).inserted {
          group.addTask { await keep(address) }
        }
        try? await Task.sleep(for: Self.look)
      }
    }
  }

  private func keep(_ address: HostPort) async {
    var failures = 0
    while !Task.isCancelled {
      guard await node.shouldDial(address) else {
        try? await Task.sleep(for: Self.look)
        continue
      }
      let started = ContinuousClock.now
      await node.dialBegins(address)
      let reason = await session(address)
      await node.dialEnded(address, reason)
      failures = ContinuousClock.now - started > Self.goodSession ? 1 : failures + 1
      if await isDueEarly(address, within: Backoff.dial.delay(after: failures)) { failures = 0 }
    }
  }

  /// Waits; true where somebody asks for the address meanwhile.
  private func isDueEarly(_ address: HostPort, within delay: Duration) async -> Bool {
    let end = ContinuousClock.now + delay
    while ContinuousClock.now < end, !Task.isCancelled {
      try? await Task.sleep(for: min(Self.look, end - ContinuousClock.now))
      if await node.isDue(address) { return true }
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

extension Node {
  /// Those of `config.toml`, and those that joining brought.
  var wantedPeers: [HostPort] { configuration.peers + knownPeers.dialled.filter { !configuration.peers.contains($0) } }

  /// Not while the device there has a session already, whoever dialled it.
  func shouldDial(_ address: HostPort) -> Bool {
    guard wantedPeers.contains(address), suspension == nil else { return false }
    guard let dial = dials[address], let device = dial.device else { return true }
    if replica.peerViews.contains(where: { $0.device == device }) { return false }
    guard hasNoPart(device), let ended = dial.ended else { return true }
    return ContinuousClock.now - ended > Self.pauseWithoutPart
  }

  /// Whether a device has no part with this one any more: it was revoked, or no common zone is left.
  private func hasNoPart(_ device: DeviceID) -> Bool {
    guard let account = replica.certificate(of: device)?.account else { return false }
    return replica.isRevoked(device)
      || account != replica.account.id && !replica.zoneIDs.contains { replica.isMember(account, of: $0) }
  }

  /// Between two tries of an address whose device has no part here: somebody else may come to have the address.
  private static let pauseWithoutPart = Duration.seconds(600)

  /// Once for each time that `dialSoon` was called.
  func isDue(_ address: HostPort) -> Bool {
    defer { dials[address]?.isDue = false }
    return dials[address]?.isDue ?? false
  }

  /// What kept these from answering, or from letting this device in, is over.
  func dialSoon(_ addresses: [HostPort]) {
    for address in addresses { dials[address, default: DialState()].isDue = true }
  }

  func dialBegins(_ address: HostPort) {
    if dials[address]?.triedSince == nil { dials[address, default: DialState()].triedSince = time.milliseconds() }
  }

  func dialEnded(_ address: HostPort, _ reason: String?) {
    dials[address, default: DialState()].lastError = reason
    dials[address]?.ended = .now
  }
}
