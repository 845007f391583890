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
        for address in await node.wantedPeers where dialled.insert(address).inserted {
          group.addTask { await keep(address) }
        }
        await Beat.wait()
      }
    }
  }

  private func keep(_ address: HostPort) async {
    var failures = 0
    while !Task.isCancelled {
      guard await node.shouldDial(address) else {
        await Beat.wait()
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

  /// Waits. Returns true if the address is requested in the meantime.
  private func isDueEarly(_ address: HostPort, within delay: Duration) async -> Bool {
    let end = ContinuousClock.now + delay
    while ContinuousClock.now < end, !Task.isCancelled {
      try? await Task.sleep(for: min(Beat.interval, end - ContinuousClock.now))
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
  /// The addresses from `config.toml`, and those from joining.
  var wantedPeers: [HostPort] { configuration.peers + knownPeers.dialled.filter { !configuration.peers.contains($0) } }

  /// Returns whether to dial an address. If its device already has a session, it isn't dialled.
  func shouldDial(_ address: HostPort) -> Bool {
    guard wantedPeers.contains(address), suspension == nil else { return false }
    guard let dial = dials[address], let device = dial.device else { return true }
    if replica.peerViews.contains(where: { $0.device == device }) { return false }
    guard hasNoPart(device), let ended = dial.ended else { return true }
    return ContinuousClock.now - ended > Self.pauseWithoutPart
  }

  /// Returns whether a device has nothing in common with this one any more, because it was revoked or no common zone is
  /// left.
  func hasNoPart(_ device: DeviceID) -> Bool {
    guard let account = replica.certificate(of: device)?.account else { return false }
    return replica.isRevoked(device)
      || account != replica.account.id && !replica.zoneIDs.contains { replica.isMember(account, of: $0) }
  }

  /// The time between two attempts at an address whose device has nothing in common with this one. Another device may
  /// take over the address.
  private static let pauseWithoutPart = Duration.seconds(600)

  /// Returns true once for each call of `dialSoon`.
  func isDue(_ address: HostPort) -> Bool {
    defer { dials[address]?.isDue = false }
    return dials[address]?.isDue ?? false
  }

  /// Requests an early attempt, because the reason for the earlier failures is over.
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
