import MeshControl
import MeshCore
import MeshReplication

/// Checks of time and history: wrong clocks, and files and homes that were restored or copied.
struct ClockChecks: NodePart {
  let context: NodeContext

  func clockChecks() throws -> [HealthCheck] {
    var checks = try replica.zoneIDs.flatMap { try replica.restamping.signedAhead($0, now: time.now) }
      .sorted { $0.key < $1.key }.map { author, head in signedAhead(author, head) }
    if let fault = replica.clockFault {
      checks.append(
        HealthCheck(
          "clock", .alarm, "Local writes stay pending, and what others write waits behind them: \(fault).",
          wayOut: "Correct the clock that is wrong, here or there. Then everything continues."))
    }
    return checks.or(
      "clock",
      "No change set is signed ahead of this machine's clock, and no other device's clock contradicts it.")
  }

  private func signedAhead(_ author: Author, _ head: ChangeSetTip) -> HealthCheck {
    let lead = max(0, head.time.milliseconds - time.milliseconds()) / 1_000
    let figures = ["seconds": Int(clamping: lead)]
    guard author.device != replica.device else {
      return HealthCheck(
        "clock", .alarm,
        "This device signed change sets that are \(lead) seconds ahead of the clock, and others do not take them.",
        wayOut: "Correct the clock if it is wrong. If it is right, run mesh device restamp.", figures: figures)
    }
    return HealthCheck(
      "clock", .alarm,
      "\(devices.name(of: author.device) ?? "A device") (\(author.device)) signed change sets that are \(lead) seconds ahead of this "
        + "machine's clock: they are kept, and merged once the time has come.",
      wayOut:
        "Correct the clock that is wrong, here or there. If this one is right, run mesh device restamp there.",
      figures: figures)
  }

  /// Checks for older files, copies, and change sets that were written twice under one number.
  func historyCheck() -> HealthCheck {
    let notices = database.notices + replica.notices
    guard !notices.isEmpty else {
      return HealthCheck("history", .ok, "No file and no home was found restored or copied since the start.")
    }
    return HealthCheck(
      "history", .warning, "Since the start: \(notices.joined(separator: "; ")).",
      wayOut:
        "If you restored or copied a file or a home yourself, nothing is wrong. Look for values that were overwritten or reverted: mesh conflicts, and mesh held. If two machines run on one "
        + "home, or on copies of it, each ends the other's sessions: stop one, and invite it as a device of its own.")
  }
}
