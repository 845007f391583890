import MeshCore
import MeshReplication

/// The connections of nodes: dials, handshakes, messages that arrive, and ends.
struct SimulatedConnections: MeshPart {
  let mesh: SimulatedMesh
  let joins: ShareJoins

  func dial(_ route: Int, _ life: Int) {
    let (from, to) = (mesh.network.routes[route].from, mesh.network.routes[route].to)
    guard mesh.alive(from, life), mesh.network.routes[route].wire == nil else { return }
    guard nodes[to].replica != nil, nodes[to].pausedUntil <= time.now, mesh.network.canReach(from, to) else {
      return mesh.queueDial(route)
    }
    if isConnected(from, to) {
      guard mesh.generator.once(in: plan.doubleDials) else { return mesh.queueDial(route) }
      occurred("network.doubleDials")
    }
    let (wire, delay) = mesh.network.connect((from, life), (to, nodes[to].life))
    mesh.network.routes[route].wire = wire
    mesh.schedule(.handshaken(route: route, wire: wire), in: delay)
  }

  private func isConnected(_ a: Int, _ b: Int) -> Bool {
    mesh.network.wires(of: a).contains { wire in
      guard let wire = mesh.network.wires[wire], wire.state == .whole, wire.ends.allSatisfy(\.isOpen) else {
        return false
      }
      return wire.ends.contains { $0.node == b }
    }
  }

  func handshaken(_ route: Int, _ wire: Int) throws {
    guard let known = mesh.network.wires[wire] else { return }
    let (dialler, listener) = (known.ends[0], known.ends[1])
    guard mesh.alive(dialler.node, dialler.life) else { return }
    guard known.state == .whole, mesh.alive(listener.node, listener.life) else {
      _ = mesh.network.close(wire, end: 1)
      _ = mesh.network.close(wire, end: 0)
      return mesh.lostConnection(wire, 0)
    }
    mesh.counts.connections += 1
    mesh.network.routes[route].connectedAt = time.now
    if known.isSlow { occurred("network.slowLinks") }
    mesh.network.establish(wire)
    say(dialler.node, "connects to n\(listener.node) by connection \(wire), \(known.latency) ms, \(known.rate) B/ms")
    let hash = mesh.generator.bytes(64)
    try mesh.input(nodes[listener.node], link: listener.link) {
      try $0.linkOpened(listener.link, mesh.linkInfo(.listener, peer: dialler.node, hash: hash), now: $1)
    }
    try mesh.input(nodes[dialler.node], link: dialler.link) {
      try $0.linkOpened(dialler.link, mesh.linkInfo(.dialler, peer: listener.node, hash: hash), now: $1)
    }
  }

  func arrived(_ wire: Int, _ from: Int, _ bytes: [UInt8]) throws {
    mesh.network.arrived(wire, from: from, bytes: bytes.count)
    guard let known = mesh.network.wires[wire], known.state == .whole else { return }
    let end = known.ends[1 - from]
    guard end.isOpen, mesh.alive(end.node, end.life) else { return }
    nodes[end.node].liar?.heard(received: bytes)
    if from == 1, let join = known.join { return try joins.heard(join, bytes) }
    try mesh.input(nodes[end.node], link: end.link) { try $0.received(end.link, bytes, now: $1) }
  }

  func noticeClosed(_ wire: Int, _ end: Int) throws {
    guard let known = mesh.network.wires[wire] else { return }
    let closed = known.ends[end]
    guard closed.isOpen, mesh.alive(closed.node, closed.life) else { return }
    _ = mesh.network.close(wire, end: end)
    if end == 0, let join = known.join { return joins.lostConnection(join) }
    try mesh.input(nodes[closed.node]) { $0.linkClosed(closed.link, now: $1) }
    mesh.lostConnection(wire, end)
  }
}
