import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Finds every unhealthy state. Each check is a value and covers one subject. A new check needs one line in the list
/// and a function that creates it.
extension Node {
  func doctor(deep: Bool) async throws -> DoctorReport {
    lookAtDatabase()
    if let suspension { return DoctorReport(unopened: suspension) }
    var checks = [.library, daemonCheck(), configurationCheck(), workCheck(), fileCheck(), logCheck()]
    if let check = try await lockCheck() { checks.append(check) }
    checks += [store.place, home.path].map(HealthCheck.disk)
    checks += try captureChecks() + pendingChecks()
    checks +=
      try deviceChecks() + zoneChecks() + clockChecks() + heldChecks() + assetChecks() + receiptChecks()
      + refusalChecks() + quotaChecks()
      + historyChecks()
    checks += try peerChecks() + memberChecks() + schemaChecks() + leftOutChecks()
    checks += endedShareChecks() + digestChecks()
    if deep { checks.append(await Self.integrity(of: store.place)) }
    return DoctorReport(checks: checks)
  }

  private func daemonCheck() -> HealthCheck {
    guard let listening else {
      return HealthCheck(
        "daemon", .ok, "No daemon runs on this home: what only a running node knows is not looked at.",
        wayOut: "mesh serve starts it.")
    }
    return HealthCheck("daemon", .ok, "The daemon runs and listens on \(listening).")
  }

  /// Compares the file with the configuration in use. A daemon continues with the configuration that it read, even if
  /// the next start would fail.
  func configurationCheck() -> HealthCheck {
    do {
      let now = try home.configuration()
      // The command line may have given other addresses.
      let isRead =
        now.database == configuration.database && now.keepsCopies == configuration.keepsCopies
        && now.keptBlobs == configuration.keptBlobs && now.peers.allSatisfy(configuration.peers.contains)
      guard isRead else {
        return HealthCheck(
          "configuration", .warning, "config.toml was changed since the daemon read it.",
          wayOut: "Send the daemon SIGHUP. A new database takes effect when you start the daemon again.")
      }
      return HealthCheck("configuration", .ok, "config.toml is what this node goes by.")
    } catch {
      return HealthCheck(
        "configuration", .alarm, "\(Self.text(error)) The node goes on with what it read before.",
        wayOut: "Mend the line; without that, the next mesh serve fails.")
    }
  }

  /// Returns the fault that last stopped this node's own work, such as a full disk, a lock that a program keeps, or a
  /// failing disk.
  func workCheck() -> HealthCheck {
    guard let fault else { return HealthCheck("work", .ok, "Nothing keeps this node from flushing and merging.") }
    return HealthCheck(
      "work", .alarm, fault.hasSuffix(".") ? fault : fault + ".",
      wayOut:
        "Make room where a disk is full, or end what the message names; the node tries again by itself and loses nothing."
    )
  }

  func deviceChecks() throws -> [HealthCheck] {
    if let revocation { return [revocation] }
    let live = replica.account.liveDevices.count
    guard live < Limits.liveDevices else {
      return [
        HealthCheck(
          "device", .warning, "The account has \(live) devices, and no more can join.",
          wayOut: "mesh device revoke those that are gone.", figures: ["devices": live])
      ]
    }
    return [HealthCheck("device", .ok, "This device is certified.", figures: ["devices": live])]
  }

  func refusalChecks() -> [HealthCheck] {
    guard !replica.refusals.isEmpty else { return [HealthCheck("refused", .ok, "No change set was refused.")] }
    let reasons = replica.refusals.sorted { $0.key < $1.key }
    return [
      HealthCheck(
        "refused", .warning,
        "Change sets were refused since the start: "
          + reasons.map { "\($0.value) \(printable($0.key))" }.joined(separator: ", ") + ".",
        wayOut:
          "Nothing of them is kept. Whoever sent them may only have passed them on, and the log names it. If writes of an "
          + "honest device are missing, update mesh there and here.",
        figures: replica.refusals)
    ]
  }

  /// Reads the whole file outside the node, table by table, so that no snapshot is held for long.
  private static func integrity(of path: String) async -> HealthCheck {
    let finding: Result<String?, any Error> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: Result { try IntegrityCheck.firstFault(inDatabase: path) })
      }
    }
    do {
      guard let fault = try finding.get() else {
        return HealthCheck("integrity", .ok, "The whole file was read, and SQLite finds it sound.")
      }
      return HealthCheck(
        "integrity", .alarm, "The file is damaged (SQLite: \(printable(fault))).",
        wayOut: "Stop the daemon and restore the file from a copy, or make a new one with sqlite3 .recover.")
    } catch {
      return HealthCheck(
        "integrity", .alarm, "The file could not be read: \(text(error))", wayOut: "See what the message names.")
    }
  }
}
