import MeshCore
import MeshReplication

/// A node that has an invite to a share and tries to join by it, until it succeeds or is refused.
struct Join {
  let node: Int
  let invite: ShareInviteContent
  /// The device that made the invite. It may be the only one that can let the node in.
  let issuer: Int
  var state = State.trying
  var attempts = 0
  /// True if the next attempt must go to the issuer.
  var mustMeetIssuer = false
  /// The connection of the current attempt.
  var wire: Int?
  var joining: ShareJoining?
  /// The node's life in which the attempt was begun, and the time.
  var life = 0
  var since: Int64 = 0

  enum State { case trying, done, refused, givenUp }

  var isOver: Bool { state != .trying }
}

/// Joins by invites, over separate connections.
final class ShareJoins: MeshPart {
  let mesh: SimulatedMesh
  private var joins: [Join] = []
  /// The number of attempts after everything has healed. The device that lets nodes in may be gone for good.
  private static let lastAttempts = 20
  /// Milliseconds after which an attempt is given up for another one.
  private static let patience: Int64 = 15_000

  init(_ mesh: SimulatedMesh) { self.mesh = mesh }

  var unfinished: [Join] { joins.filter { !$0.isOver } }

  func begin(_ join: Join) {
    joins.append(join)
    mesh.schedule(.join(joins.count - 1, node: join.node), in: Int64.random(in: 1...4_000, using: &mesh.generator))
  }

  func attempt(_ index: Int) throws {
    let join = joins[index]
    guard !join.isOver else { return }
    let node = nodes[join.node]
    let isIssuerGone = join.mustMeetIssuer && nodes[join.issuer].isStopped
    guard !node.isRevoked, !isIssuerGone, !(mesh.deadline != nil && join.attempts > Self.lastAttempts) else {
      return end(index, .givenUp, "gives up joining \(zones.name(join.invite.zone))")
    }
    mesh.schedule(.join(index, node: join.node), in: Int64.random(in: 800...2_500, using: &mesh.generator))
    let isUnderWay = join.wire != nil && join.life == node.life && time.now - join.since < Self.patience
    guard node.replica != nil, !isUnderWay, let member = member(for: join) else { return }
    if let wire = join.wire { mesh.close(wire, 0) }
    setWire(index, nil)
    guard member.replica != nil, member.pausedUntil <= time.now, mesh.network.canReach(node.index, member.index) else {
      return
    }
    let (wire, delay) = mesh.network.connect(
      (node.index, node.life), (member.index, member.life), with: join.invite)
    if mesh.deadline != nil { joins[index].attempts += 1 }
    setWire(index, wire)
    (joins[index].life, joins[index].since) = (node.life, time.now)
    mesh.schedule(.joinOpened(index, node: node.index, wire: wire), in: delay)
  }

  /// Returns the device that made the invite, or another device of its account or of a member from which the invite may
  /// have come.
  private func member(for join: Join) -> SimulatedNode? {
    if join.mustMeetIssuer || mesh.generator.once(in: 2) { return nodes[join.issuer] }
    let others = nodes.filter { node in
      !node.isLiar && !node.isStopped && node.index != join.node
        && node.replica?.shareState(join.invite.zone)?.permission(zones.account(of: node)) != nil
    }
    return others.randomElement(using: &mesh.generator) ?? nodes[join.issuer]
  }

  func open(_ index: Int, _ wire: Int) throws {
    guard let known = mesh.network.wires[wire], joins[index].wire == wire else { return }
    let (joiner, member) = (known.ends[0], known.ends[1])
    guard mesh.alive(joiner.node, joiner.life), let replica = nodes[joiner.node].replica, known.state == .whole,
      mesh.alive(member.node, member.life)
    else {
      _ = mesh.network.close(wire, end: 1)
      _ = mesh.network.close(wire, end: 0)
      setWire(index, nil)
      return
    }
    mesh.network.establish(wire)
    let hash = mesh.generator.bytes(64)
    // Sometimes a person looks at the offer first.
    let claims = !mesh.generator.once(in: 6)
    say(joiner.node, "\(claims ? "asks" : "looks") at n\(member.node) for \(zones.name(joins[index].invite.zone))")
    try mesh.input(nodes[member.node], link: member.link) {
      try $0.linkOpened(member.link, mesh.linkInfo(.listener, peer: joiner.node, hash: hash), now: $1)
    }
    let joining = replica.admission.joining(
      joins[index].invite, mesh.linkInfo(.dialler, peer: member.node, hash: hash), claims: claims)
    joins[index].joining = joining
    try perform(index, joining.start())
  }

  func heard(_ index: Int, _ bytes: [UInt8]) throws {
    guard var joining = joins[index].joining, !joins[index].isOver else { return }
    guard let message = try? Message.decode(bytes) else { return }
    let outputs = joining.receive(message)
    joins[index].joining = joining
    try perform(index, outputs)
  }

  /// Notes that the connection of an attempt is closed.
  func lostConnection(_ index: Int) { setWire(index, nil) }

  private func perform(_ index: Int, _ outputs: [ShareJoining.Output]) throws {
    let node = nodes[joins[index].node]
    let name = zones.name(joins[index].invite.zone)
    for output in outputs {
      guard let wire = joins[index].wire else { return }
      switch output {
      case .send(let message): mesh.send(node, wire, 0, message.encoded)
      case .offered(let offer): say(node.index, "is offered “\(offer.title)” to \(offer.permission.name)")
      case .done(let joined):
        var isAdopted = false
        try mesh.input(node) {
          try $0.admission.adopt(joined, now: $1)
          isAdopted = true
        }
        if isAdopted { end(index, .done, "joins \(name)") }
      case .wait(let reason):
        joins[index].mustMeetIssuer = true
        say(node.index, "waits to join \(name): \(mesh.named(reason))")
        hangUp(index)
      case .refused(let reason):
        let text = "may not join \(name): \(mesh.named(reason))"
        // Another device may know less than the one that made the invite.
        if mesh.network.wires[wire]?.ends[1].node == joins[index].issuer { return end(index, .refused, text) }
        joins[index].mustMeetIssuer = true
        say(node.index, text)
        hangUp(index)
      }
    }
  }

  private func end(_ index: Int, _ state: Join.State, _ text: String) {
    joins[index].state = state
    say(joins[index].node, text)
    hangUp(index)
  }

  private func hangUp(_ index: Int) {
    if let wire = joins[index].wire { mesh.close(wire, 0) }
    setWire(index, nil)
    joins[index].joining = nil
  }

  private func setWire(_ index: Int, _ wire: Int?) {
    if let old = joins[index].wire { mesh.network.mark(old, for: nil) }
    joins[index].wire = wire
    if let wire { mesh.network.mark(wire, for: index) }
  }
}
