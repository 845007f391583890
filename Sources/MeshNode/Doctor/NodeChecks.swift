import MeshControl
import MeshCore
import MeshReplication

/// Checks of the node itself: its configuration, its work, and its place in the account.
struct NodeChecks: NodePart {
  let context: NodeContext

  func daemonCheck() -> HealthCheck {
    guard let listening = addresses.listening else {
      return HealthCheck(
        "daemon", .ok, "No daemon runs on this home, so facts that only a running node knows are not checked.",
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
      return HealthCheck("configuration", .ok, "This node uses config.toml as it is now.")
    } catch {
      return HealthCheck(
        "configuration", .alarm, "\(error.userMessage) The node continues with the settings that it read before.",
        wayOut: "Fix the line. Otherwise the next mesh serve fails.")
    }
  }

  /// Returns the fault that last stopped this node's own work, such as a full disk, a lock that a program keeps, or a
  /// failing disk.
  ///
  /// - Parameter lock: The check of the write lock, if a program has it.
  func workCheck(_ lock: HealthCheck? = nil) -> HealthCheck {
    guard let fault = driver.fault else {
      return HealthCheck(
        "work", .ok, "Nothing\(lock == nil ? "" : " but the lock") keeps this node from flushing and merging.")
    }
    return HealthCheck(
      "work", .alarm, fault.hasSuffix(".") ? fault : fault + ".",
      wayOut:
        "Make room if a disk is full, or end what the message names. The node tries again by itself and loses nothing."
    )
  }

  func deviceCheck() -> HealthCheck {
    if let revocation = revocation { return revocation }
    if let lost = try? isAccountKeyMissing(), lost {
      return HealthCheck(
        "device", .warning,
        "The account's key was on this device, and \(home.path)/account.key is gone. Nobody but an administrator can invite, "
          + "promote or revoke devices.",
        wayOut: "Put the file back from a copy of the home. Otherwise: mesh account replace-key, with the recovery key."
      )
    }
    let live = replica.account.liveDevices.count
    guard live < Limits.liveDevices else {
      return HealthCheck(
        "device", .warning, "The account has \(live) devices, and no more can join.",
        wayOut: "Revoke those that are gone: mesh device revoke DEVICE", figures: ["devices": live])
    }
    return HealthCheck("device", .ok, "This device is certified.", figures: ["devices": live])
  }

  /// Returns whether this device made the account, nobody has replaced the account's key since, and the key is gone.
  private func isAccountKeyMissing() throws -> Bool {
    let first = DeviceAnswers(context: context).list().devices.first
    return try replica.account.successor == nil && first?.device == replica.device.description
      && !home.exists(.accountKey)
  }

  func refusalCheck() -> HealthCheck {
    let refusals = replica.refusals
    guard !refusals.isEmpty else { return HealthCheck("refused", .ok, "No change set was refused.") }
    let all = refusals.sorted { $0.key < $1.key }.map { "\($0.value) \(printable($0.key))" }.joined(separator: ", ")
    // A permission that ends while its holder writes is no fault, and the holder has receipts.
    guard replica.hasRefusedFaults else {
      return HealthCheck(
        "refused", .ok,
        "Change sets were refused since the start, because their authors' permission or certificate does not cover them: "
          + "\(all).", figures: refusals)
    }
    return HealthCheck(
      "refused", .warning, "Change sets were refused since the start: \(all).",
      wayOut:
        "mesh kept none of them. The device that sent them may only have passed them on; the log names it. If writes of "
        + "an honest device are missing, update mesh there and here.",
      figures: refusals)
  }

  /// The check that fails if the account has revoked this device, or nil if it hasn't.
  var revocation: HealthCheck? {
    guard replica.isExcluded else { return nil }
    if replica.account.isUnconfirmed(replica.device) {
      return HealthCheck(
        "device", .alarm,
        "The account's key was replaced, and nobody has confirmed this device since: it takes no part, and its writes "
          + "stay here.",
        wayOut: "On the machine with the account's key: mesh device confirm \(replica.device)")
    }
    return HealthCheck(
      "device", .alarm, "The account revoked this device: it takes no further part, and its writes stay here.",
      wayOut: "Make a new home, and join again with an invite of the account: mesh init --home DIR --database PATH "
        + "--link -")
  }
}
