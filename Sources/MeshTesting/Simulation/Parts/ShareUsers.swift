import MeshCore
import MeshReplication

/// The actions of people on shares, each at a node, with that node's knowledge.
struct ShareUsers: MeshPart {
  let mesh: SimulatedMesh
  let apps: AppWrites
  let joins: ShareJoins
  /// The greatest number of shares. More shares would show nothing new.
  private static let mostShares = 8

  func create(_ node: SimulatedNode) throws {
    guard zones.hasShares, mayAct(node), !node.isLiar, zones.shareCount < Self.mostShares else {
      return
    }
    let roots = try node.database.contents(["list", "tag"]).keys.sorted()
    guard let root = roots.randomElement(using: &mesh.generator) else { return }
    let name = zones.nextName
    try attempt(node, "shares.creates", "shares \(root) as \(name)") { replica, now in
      _ = try replica.shares.create(of: root, title: name, now: now)
    }
    try zones.meetShares(node)
  }

  /// Gives an invite to one account, or to two of which one may have copied it.
  func invite(_ node: SimulatedNode) throws {
    guard let (node, zone, _) = ownShare(node, where: { !$0.isStopped }) else { return }
    let others = zones.accounts.indices.filter { $0 != node.home.account }
    guard let account = others.randomElement(using: &mesh.generator) else { return }
    let uses: UInt64? = [nil, 1, 1, 2].randomElement(using: &mesh.generator) ?? 1
    let permission: Permission = mesh.generator.once(in: 3) ? .readOnly : .readWrite
    let bound = mesh.generator.once(in: 3) ? zones.accountID(account) : nil
    let expires = mesh.generator.once(in: 6) ? node.clock.milliseconds() + 5_000 : 0
    let text = "\(permission.name), \(uses.map { "\($0) uses" } ?? "open")\(bound == nil ? "" : ", bound")"
    var invite: ShareInviteContent?
    try attempt(node, "shares.invites", "invites account \(KnownZones.letter(account)) to \(zone.name): \(text)") {
      replica, now in
      invite = try replica.shares.invite(
        to: zone.id, permission, uses: uses, expires: expires, account: bound.map { DisplayedID($0) },
        addresses: ["n\(node.index)"], now: now)
    }
    guard let invite else { return }
    var invited = [account]
    if mesh.generator.once(in: 3), let copier = others.filter({ $0 != account }).randomElement(using: &mesh.generator) {
      invited.append(copier)
    }
    for account in invited { hand(invite, to: account, from: node) }
  }

  private func hand(_ invite: ShareInviteContent, to account: Int, from node: SimulatedNode) {
    let devices = nodes.filter { $0.home.account == account && !$0.isRevoked && !$0.isStopped }
    guard let device = devices.randomElement(using: &mesh.generator) else { return }
    zones.noteInvite(of: account, to: invite.zone)
    joins.begin(Join(node: device.index, invite: invite, issuer: node.index))
  }

  func uninvite(_ node: SimulatedNode) throws {
    guard let (node, zone, state) = ownShare(node, where: { !$0.invites.isEmpty }),
      let invite = state.invites.keys.sorted().randomElement(using: &mesh.generator)
    else { return }
    try attempt(node, "shares.uninvites", "revokes an invite to \(zone.name)") { replica, now in
      try replica.shares.revokeInvite(invite, of: zone.id, now: now)
    }
  }

  func changePermission(_ node: SimulatedNode) throws {
    guard let (node, zone, account) = participant(node) else { return }
    try changePermission(node, zone, account, "shares.permissions")
  }

  private func changePermission(
    _ node: SimulatedNode, _ zone: KnownZone, _ account: AccountID, _ fault: String
  ) throws {
    guard let before = node.replica?.shareState(zone.id)?.permission(account) else { return }
    let permission: Permission = before == .readOnly ? .readWrite : .readOnly
    let text = "makes account \(zones.letter(account)) \(permission.name) in \(zone.name)"
    try attempt(node, fault, text) { replica, now in
      try replica.shares.setPermission(permission, of: account, in: zone.id, now: now)
    }
  }

  /// Lowers and raises a permission, or raises and lowers it, several times.
  func flap(_ node: SimulatedNode) throws {
    guard let (node, zone, account) = participant(node) else { return }
    for _ in 0..<Int.random(in: 2...5, using: &mesh.generator) where node.replica != nil {
      try changePermission(node, zone, account, "shares.flaps")
    }
  }

  func remove(_ node: SimulatedNode) throws {
    guard let (node, zone, account) = participant(node) else { return }
    let text = "removes account \(zones.letter(account)) from \(zone.name)"
    try attempt(node, "shares.removals", text) { replica, now in
      try replica.shares.remove(account, from: zone.id, now: now)
    }
  }

  func leave(_ node: SimulatedNode) throws {
    guard zones.hasShares, mayAct(node), let replica = node.replica else { return }
    let mine = zones.account(of: node)
    let shares = zones.all.filter { zone in
      guard let state = replica.shareState(zone.id) else { return false }
      return state.owner != mine && state.permission(mine) != nil
    }
    guard let zone = shares.randomElement(using: &mesh.generator) else { return }
    try attempt(node, "shares.leaves", "leaves \(zone.name)") { replica, now in
      try replica.shares.leave(zone.id, now: now)
    }
  }

  func stop(_ node: SimulatedNode) throws {
    guard let (node, zone, _) = ownShare(node, where: { !$0.isStopped }) else { return }
    try attempt(node, "shares.stops", "stops \(zone.name)") { replica, now in
      try replica.shares.stop(zone.id, now: now)
    }
  }

  /// Lets an app delete the root of a share. This ends the owner's share, and makes another account leave it.
  func deleteRoot(_ node: SimulatedNode) throws {
    guard zones.hasShares, !node.isRevoked else { return }
    let roots = zones.all.compactMap { zone in node.replica?.shareState(zone.id).flatMap { _ in zone.root } }
    guard let root = roots.randomElement(using: &mesh.generator) else { return }
    occurred("shares.rootDeletes")
    try apps.write(
      node, AppTransaction(statements: [.delete(table: root.table, key: root.key)], ending: .commit))
  }

  /// Lets an app remove the triggers that refuse its writes, and write.
  func bypass(_ node: SimulatedNode) throws {
    guard zones.hasShares, !node.isRevoked, let replica = node.replica else { return }
    let roots = zones.all.compactMap { zone in
      replica.shareState(zone.id)?.permission(zones.account(of: node)) == .readOnly ? zone.root : nil
    }
    guard let root = roots.randomElement(using: &mesh.generator) else { return }
    occurred("shares.bypasses")
    do {
      try node.database.dropPermissions()
    } catch {
      return try mesh.fault(node, error)
    }
    let value = Value.text("n\(node.index)-around-\(time.now)")
    let key = Value.text("item\(Int.random(in: 0..<4, using: &mesh.generator))\(KnownZones.letter(node.home.account))")
    let statement: AppTransaction.Statement =
      root.table == "list" && mesh.generator.once(in: 2)
      ? .upsert(table: "item", values: ["id": key, "list": root.key, "title": value])
      : .update(table: root.table, key: root.key, values: [root.table == "list" ? "title" : "note": value])
    try apps.write(node, AppTransaction(statements: [statement], ending: .commit))
  }

  // MARK: Who acts

  private func mayAct(_ node: SimulatedNode) -> Bool { node.replica != nil && !node.isRevoked && mesh.deadline == nil }

  /// Returns a device of an owner and one of its shares. It is the step's node if that is an owner.
  private func ownShare(
    _ node: SimulatedNode, where isFit: (ZoneState) -> Bool
  ) -> (node: SimulatedNode, zone: KnownZone, state: ZoneState)? {
    guard zones.hasShares else { return nil }
    for node in [node] + nodes.shuffled(using: &mesh.generator) where mayAct(node) && !node.isLiar {
      let shares = zones.all.compactMap { zone in
        zone.account == node.home.account ? node.replica?.shareState(zone.id).map { (zone: zone, state: $0) } : nil
      }.filter { isFit($0.state) }
      if let share = shares.randomElement(using: &mesh.generator) { return (node, share.zone, share.state) }
    }
    return nil
  }

  private func participant(_ node: SimulatedNode) -> (SimulatedNode, KnownZone, AccountID)? {
    func members(_ state: ZoneState) -> [AccountID] {
      state.participants.filter { $0.value.permission != nil }.keys.sorted()
    }
    guard let (node, zone, state) = ownShare(node, where: { !$0.isStopped && !members($0).isEmpty }),
      let account = members(state).randomElement(using: &mesh.generator)
    else { return nil }
    return (node, zone, account)
  }

  /// Runs an action, and logs the reason if it can't be done, as a command would show it.
  private func attempt(
    _ node: SimulatedNode, _ fault: String, _ text: String, _ body: (Replica, Moment) throws -> Void
  ) throws {
    say(node.index, text)
    try mesh.input(node) { replica, now in
      do {
        try body(replica, now)
        occurred(fault)
      } catch let error as ShareError {
        say(node.index, "cannot: \(mesh.named("\(error)"))")
      } catch let error as ReplicaError {
        say(node.index, "cannot: \(mesh.named("\(error)"))")
      }
    }
  }
}
