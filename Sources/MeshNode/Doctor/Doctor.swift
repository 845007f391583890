import MeshControl
import MeshCore
import MeshStore

/// Finds every unhealthy state. Each check is a value and covers one subject. A new check needs one line in the list
/// and a function that creates it.
struct Doctor: NodePart {
  let context: NodeContext

  var node: NodeChecks { NodeChecks(context: context) }
  var file: FileChecks { FileChecks(context: context) }
  var zones: ZoneChecks { ZoneChecks(context: context) }
  var clock: ClockChecks { ClockChecks(context: context) }
  var members: MemberChecks { MemberChecks(context: context) }

  nonisolated(nonsending) func report(deep: Bool) async throws -> DoctorReport {
    driver.lookAtDatabase()
    if let suspension = database.suspension { return DoctorReport(unopened: suspension) }
    let lock = try await file.lockCheck()
    if let suspension = database.suspension { return DoctorReport(unopened: suspension) }
    let checks = try checks(lock)
    return DoctorReport(checks: deep ? checks + [await Self.integrity(of: store.place)] : checks)
  }

  /// Returns all checks of this moment.
  ///
  /// - Parameter lock: The result of `FileChecks.lockCheck`, which takes a while.
  private func checks(_ lock: HealthCheck?) throws -> [HealthCheck] {
    var checks = [.library, node.daemonCheck(), node.configurationCheck(), node.workCheck(lock)]
    checks += [file.fileCheck(), file.logCheck()] + (lock.map { [$0] } ?? [])
    checks += HealthCheck.disks(under: [store.place, home.path])
    checks += try file.captureChecks() + [zones.pendingCheck(), node.deviceCheck()] + zones.zoneChecks()
    checks += try clock.clockChecks() + zones.heldChecks() + zones.assetChecks() + zones.receiptChecks()
    checks += try zones.conflictChecks()
    checks += try [node.refusalCheck()] + QuotaAnswers(context: context).checks() + [clock.historyCheck()]
    checks += try members.peerChecks() + members.memberChecks() + members.schemaChecks() + members.leftOutChecks()
    return try checks + members.endedShareChecks() + zones.digestChecks()
  }

  /// Returns the alarms that don't need the schema, because they are requested often.
  func alarms() throws -> [String] {
    let checks =
      try [node.configurationCheck(), node.workCheck(), file.logCheck(), node.deviceCheck()] + zones.zoneChecks()
      + clock.clockChecks() + zones.digestChecks() + file.uncapturedChecks()
    return checks.filter { $0.state == .alarm }.map(Self.text)
  }

  func warnings(_ lock: HealthCheck?) -> [String] {
    [node.configurationCheck(), lock, clock.historyCheck(), node.refusalCheck()].compactMap(\.self)
      .filter { $0.state == .warning }.map(Self.text)
  }

  private static func text(_ check: HealthCheck) -> String {
    [check.what, check.wayOut].compactMap(\.self).joined(separator: " ")
  }

  /// Reads the whole file outside the node, table by table, so that no snapshot is held for long.
  private static func integrity(of path: String) async -> HealthCheck {
    do {
      guard let fault = try await Node.outside({ try IntegrityCheck.firstFault(inDatabase: path) }) else {
        return HealthCheck("integrity", .ok, "The whole file was read, and SQLite finds it sound.")
      }
      return HealthCheck(
        "integrity", .alarm, "The file is damaged (SQLite: \(printable(fault))).",
        wayOut: "Stop the daemon and restore the file from a copy, or make a new one with sqlite3 .recover.")
    } catch {
      return HealthCheck(
        "integrity", .alarm, "The file could not be read: \(error.userMessage)", wayOut: "See what the message names.")
    }
  }
}
