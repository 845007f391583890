import MeshCore
import MeshReplication

/// The rules that hold once everything has healed and the nodes have equal vectors.
struct FinalChecks: MeshPart {
  let mesh: SimulatedMesh
  private let control: ControlCheck
  private let assets: AssetUsers
  private let history: FileIncidents
  /// The number of logs that are read again if there are more nodes. Each is read as a whole.
  private static let readLogs = 8

  init(_ mesh: SimulatedMesh, _ control: ControlCheck, _ assets: AssetUsers, _ history: FileIncidents) {
    (self.mesh, self.control, self.assets, self.history) = (mesh, control, assets, history)
  }

  func check() throws {
    let rows = RowCheck(mesh: mesh)
    var oracles: [ZoneID: Oracle] = [:]
    for zone in zones.all where try !zones.hasShares || !zones.isAbandoned(zone) {
      let oracle = try check(zone)
      oracles[zone.id] = oracle
      if let oracle { rows.checkScope(zone, oracle) }
    }
    for node in honest {
      if let damage = try node.database.damage() { violate("n\(node.index)'s file is damaged: \(damage)") }
      for (reason, count) in node.replica?.refusals ?? [:] { mesh.counts.refusals[reason, default: 0] += count }
    }
    try rows.compare(oracles)
    try TallyCheck(mesh: mesh).check(oracles)
    for node in honest.prefix(Self.readLogs) { try check(node, rows, oracles) }
  }

  /// Checks one zone: its members have equal states, which follow from their logs.
  private func check(_ zone: KnownZone) throws -> Oracle? {
    let members = try zones.members(zone)
    guard let first = members.first, let store = first.store else { return nil }
    let digest = try store.zones.digest(zone.id)
    for node in members {
      guard let own = try node.store?.zones.digest(zone.id) else { continue }
      let vector = mesh.text(node.merged(zone.id))
      say(node.index, "ends with \(vector) and \(own.records) records, digest \(own.hexadecimal)\(zone.suffix)")
      if own != digest {
        violate("n\(node.index) and n\(first.index) have equal vectors and unequal digests\(zone.suffix)")
      }
    }
    if zones.hasShares { try control.check(zone) }
    let logs = LogCheck(mesh: mesh, history: history)
    return try members.prefix(Self.readLogs).map { try logs.check($0, zone, digest, isFirst: $0 === first) }.first
  }

  /// Checks one node's file, rows, and writes.
  private func check(_ node: SimulatedNode, _ rows: RowCheck, _ oracles: [ZoneID: Oracle]) throws {
    for asset in try node.database.needlessAssets() {
      violate("n\(node.index) keeps the bytes of \(asset), for which nothing waits")
    }
    let contents = try node.database.contents()
    if contents.keys.contains(where: { $0.key == Liar.forgedKey }) {
      violate("n\(node.index) shows a record that its author never wrote")
    }
    let writes = WriteCheck(mesh: mesh, history: history)
    if zones.hasShares {
      let mine = try mine(node, oracles)
      try rows.check(node, mine, oracles, contents)
      try writes.check(node, mine, oracles, contents)
    } else if let zone = zones.all.first, let oracle = oracles[zone.id], let store = node.store {
      let log = try store.wholeLog(zone.id).map { try ChangeSet($0, with: cryptography).id }
      node.ledger.naming = AssetNaming(zone: zone.id, cryptography: cryptography)
      try writes.check(node, oracle, in: Set(log))
      if assets.mayBeMissing { try AssetCheck(mesh: mesh, assets: assets).check(node, zone.id, oracle) }
      try rows.check(node, oracle, zone, contents)
    }
  }

  /// Returns the zones that the node is a member of.
  private func mine(_ node: SimulatedNode, _ oracles: [ZoneID: Oracle]) throws -> [ShownRows.Zone] {
    try zones.all.compactMap { zone in
      guard let oracle = oracles[zone.id], try zones.members(zone).contains(where: { $0 === node }) else { return nil }
      let rank = zone.account != node.home.account ? 2 : zone.root == nil ? 0 : 1
      return ShownRows.Zone(known: zone, oracle: oracle, rank: rank)
    }
  }
}
