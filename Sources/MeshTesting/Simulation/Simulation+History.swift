import MeshCore
import MeshReplication

/// What people do to a node behind its back: alter tables, restore and copy files, revoke devices.
extension Simulation {
  // MARK: Schemas

  /// Each node's app does it at another time, and now and then fills the column at once.
  func addColumn(_ node: SimulatedNode) throws {
    guard storage == .sqlite, !node.isRevoked else { return }
    for table in AppSchema.mixed {
      for column in table.columns where column.isAdded && !node.database.added.contains("\(table.name).\(column.name)")
      {
        var sql = [AppSchema.addition(table, column)]
        if generator.once(in: 2) { sql.append("UPDATE \(table.name) SET \(column.name) = 'n\(node.index)-filled'") }
        occurred("writers.addedColumns")
        return try alter(node, table.name, sql)
      }
    }
  }

  /// The table is made anew with the rows that it had, as one does where `ALTER TABLE` can't.
  func alter(_ node: SimulatedNode) throws {
    guard storage == .sqlite, !node.isRevoked else { return }
    occurred("writers.alterations")
    let copied = AppSchema.leg.sql.replacing("leg", with: "leg_new")
    try alter(
      node, AppSchema.leg.name,
      [copied, "INSERT INTO leg_new SELECT * FROM leg", "DROP TABLE leg", "ALTER TABLE leg_new RENAME TO leg"])
  }

  private func alter(_ node: SimulatedNode, _ table: String, _ sql: [String]) throws {
    try write(
      node, AppTransaction(statements: [.alter(table: table, sql: sql)], ending: .commit), node.replica == nil)
  }

  // MARK: Restored and copied

  /// A copy is made now and then; an older one takes the place of what is there.
  func restoreFile(_ node: SimulatedNode) throws { try restore(node, withHome: false) }
  func restoreHome(_ node: SimulatedNode) throws { try restore(node, withHome: true) }

  private func restore(_ node: SimulatedNode, withHome: Bool) throws {
    guard storage == .sqlite, !node.isRevoked, !node.isLiar, node.index > 0, node.life > 0 else { return }
    guard let old = node.copies.popLast() else {
      if let copy = node.copy { node.copies.append(copy) }
      return say(node.index, "is copied for a bad day")
    }
    occurred(withHome ? "history.homeRestores" : "history.restores")
    try replace(node, withHome ? "gets its old home and file back" : "gets an older file back") {
      if withHome { node.vault.contents = old.home }
      node.take(old)
    }
  }

  func copyFile(_ node: SimulatedNode) throws {
    guard let other = try another(node), let copy = other.copy else { return }
    occurred("history.fileCopies")
    try replace(node, "gets a copy of n\(other.index)'s file") { node.take(copy) }
  }

  func copyHome(_ node: SimulatedNode) throws {
    guard let other = try another(node), let copy = other.copy else { return }
    occurred("history.homeCopies")
    try replace(node, "becomes a copy of n\(other.index)") { node.become(other, copy) }
  }

  /// A node whose file can be copied to this one. The first one's is not replaced: it makes the zone.
  private func another(_ node: SimulatedNode) throws -> SimulatedNode? {
    let others = nodes.filter { $0 !== node && !$0.isLiar && !$0.isRevoked && $0.life > 0 && $0.index > 0 }
    guard storage == .sqlite, !node.isRevoked, !node.isLiar, node.index > 0, node.life > 0, !others.isEmpty else {
      return nil
    }
    return others[Int.random(in: 0..<others.count, using: &generator)]
  }

  private func replace(_ node: SimulatedNode, _ how: String, _ body: () -> Void) throws {
    let wasDown = node.replica == nil
    if wasDown {
      say(node.index, how)
      try node.database.crash(losesUnsynced: false)
    } else {
      try crash(node, how, isMachine: true)
    }
    body()
  }

  // MARK: Revoked

  func revoke(_ node: SimulatedNode) throws {
    guard zone != nil, nodes[0].replica != nil, node.index > 0, !node.isRevoked, !node.isLiar,
      nodes.filter(\.isRevoked).count < nodes.count / 3
    else { return }
    say(0, "revokes n\(node.index)")
    let device = node.device
    try input(nodes[0]) { replica, now in try replica.revoke(device, now: now) }
    noteRevoked()
  }

  /// As the first device knows it: it may have died before that was durable, or after.
  func noteRevoked() {
    guard let account = nodes[0].replica?.account else { return }
    for node in nodes where !node.isRevoked && account.isRevoked(node.device) {
      occurred("nodes.revocations")
      node.isRevoked = true
      for route in network.replace(node.index, by: 0) {
        let from = nodes[network.routes[route].from]
        if from.replica != nil { queue.add(.dial(route: route, life: from.life), at: time.now + 100) }
      }
    }
  }
}
