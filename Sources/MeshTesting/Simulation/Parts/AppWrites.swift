import MeshCore

/// The writes of the nodes' apps.
struct AppWrites: MeshPart {
  let mesh: SimulatedMesh
  private static let olderRows = 8
  private static let transactionsBetween = 6

  /// Makes the app write something, or nothing if it doesn't write while its node is down.
  func write(_ node: SimulatedNode, isWithinWork: Bool = false) throws {
    guard node.replica != nil || mesh.generator.once(in: plan.writesWhileDown), !node.isRevoked else { return }
    if zones.hasShares {
      let keys = (try? node.database.contents())?.keys.sorted() ?? []
      node.writer.known = Dictionary(grouping: keys, by: \.table).mapValues { $0.map(\.key) }
    }
    try write(node, node.writer.next(added: node.database.added), isWithinWork: isWithinWork)
  }

  /// Lets the app write right before one of the node's next transactions, in half of the cases a delete.
  func interrupt(_ node: SimulatedNode) {
    guard node.replica != nil, !node.isRevoked else { return }
    node.database.beforeTransaction(Int.random(in: 0..<Self.transactionsBetween, using: &mesh.generator)) {
      occurred("writers.interruptions")
      do {
        let rows = try node.database.contents(AppSchema.mixed.map(\.name)).keys.sorted()
        let name = mesh.generator.once(in: 2) ? rows.randomElement(using: &mesh.generator) : nil
        if let name {
          let delete = AppTransaction(statements: [.delete(table: name.table, key: name.key)], ending: .commit)
          try write(node, delete, isWithinWork: true)
        } else {
          try write(node, isWithinWork: true)
        }
      } catch {
        violate("n\(node.index)'s app fails within its node's work: \(error)")
      }
    }
  }

  /// Makes all apps write at once. If clocks agree, the stamps have one time, and only their authors distinguish them.
  func writeAll(_ node: SimulatedNode) throws {
    occurred("writers.together")
    let group = Int.random(in: 0..<AppSchema.groups, using: &mesh.generator)
    for node in nodes where node.replica != nil && !node.isRevoked {
      let value = Value.text("n\(node.index)-at-\(time.now)")
      try write(node, AppTransaction(statements: [.group(group, value: value)], ending: .commit))
    }
  }

  /// Lets the app have rows before the node tracks its tables.
  func writeOlderCopy(_ node: SimulatedNode) throws {
    guard node.life == 0, mesh.generator.once(in: plan.olderCopies) else { return }
    occurred("writers.olderCopies")
    for _ in 0..<Self.olderRows { try write(node, node.writer.next()) }
  }

  /// - Parameter isWithinWork: True if the node is at work. If the machine dies, the node notices it itself.
  func write(_ node: SimulatedNode, _ transaction: AppTransaction, isWithinWork: Bool = false) throws {
    let isDown = node.replica == nil
    do {
      let isCommitted = try node.write(transaction)
      let text = transaction.statements.map(\.description).joined(separator: "; ")
      say(node.index, "\(isCommitted ? "commits" : "takes back"): \(text)")
      guard isCommitted else { return }
    } catch {
      if node.database.disk?.isDead == true { return isWithinWork ? () : try mesh.die(node) }
      guard mesh.isFault(node, error) else { return violate("n\(node.index)'s app fails: \(error)") }
      return say(node.index, "cannot write: its disk fails")
    }
    mesh.counts.commits += 1
    if isDown { occurred("writers.whileDown") }
    for oddity in node.writer.oddities { occurred(oddity) }
    node.writer.oddities = []
    // Sometimes the notice is missed, and the slow poll has to find the change.
    guard !isDown, !mesh.generator.once(in: 10) else { return }
    mesh.schedule(.noticed(node: node.index, life: node.life), in: Int64.random(in: 0...20, using: &mesh.generator))
  }
}
