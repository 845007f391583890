import MeshControl

/// Methods that wait until changes have arrived.
extension SyncEngine {
  /// Returns when every connected device has acknowledged all changes of this one.
  ///
  /// A running engine sends changes without this call. Wait for them before the machine is switched off, or when a
  /// person asks. Changes that are made during the call are waited for as well, so it takes until the timeout if something
  /// writes all the time.
  ///
  /// - Parameter timeout: The longest wait for a device to connect, and for its answers.
  /// - Throws: ``SyncError``: ``SyncError/Code/noDevice`` immediately if no other device could connect, or if none has
  ///   connected in time; ``SyncError/Code/notInTime``; ``SyncError/Code/tooLong`` if a row can't be sent;
  ///   ``SyncError/Code/notRunning``.
  public func sendChanges(timeout: Duration = .seconds(60)) async throws {
    try await activity.counting(.send) {
      try await activity.wait(until: .now + timeout, timeout) { report in
        guard report.tooLong == 0 else {
          throw SyncError(
            .tooLong,
            "\(report.tooLong) rows can't be sent: a value is too long, or the key is no valid text. The other rows were sent. "
              + "mesh held lists the rows.")
        }
        return report.pending == 0 && report.missing.allSatisfy { $0.behind.there == 0 }
      }
    }
  }

  /// Returns when the tables have everything that connected devices have.
  ///
  /// A running engine fetches changes without this call, as soon as they are made.
  ///
  /// - Parameter timeout: The longest wait for a device to connect, and for its changes.
  /// - Throws: ``SyncError``: ``SyncError/Code/noDevice`` immediately if no other device could connect, or if none has
  ///   connected in time; ``SyncError/Code/notInTime``; ``SyncError/Code/notRunning``.
  public func fetchChanges(timeout: Duration = .seconds(60)) async throws {
    try await activity.counting(.fetch) {
      try await activity.wait(until: .now + timeout, timeout) { report in
        // A device that hasn't reported its BLOBs hasn't reported everything that it has.
        !report.working && report.locked == nil && report.assets.coming.assets == 0
          && report.missing.allSatisfy { $0.behind.here == 0 && $0.assets != nil }
      }
    }
  }

  /// Sends all changes of this device, then fetches those of others.
  ///
  /// - Parameter timeout: The longest wait for each of the two.
  /// - Throws: The errors of ``sendChanges(timeout:)`` and ``fetchChanges(timeout:)``.
  public func syncChanges(timeout: Duration = .seconds(60)) async throws {
    try await sendChanges(timeout: timeout)
    try await fetchChanges(timeout: timeout)
  }

  /// The time between two checks of the node.
  static let look = Duration.milliseconds(20)
}

extension SyncActivity {
  fileprivate func wait(
    until deadline: ContinuousClock.Instant, _ timeout: Duration, _ isDone: (WaitReport) throws -> Bool
  ) async throws {
    while true {
      let control = try await control()
      do {
        let report = try await control.perform(WaitRequest(timeout: .zero))
        if try isDone(report) {
          // It is renewed a little later anyway.
          try? await renewProgress(control)
          return
        }
        guard ContinuousClock.now < deadline else { throw SyncError.notInTime(report, timeout) }
      } catch let error as ControlClientError where error.isOver && ContinuousClock.now < deadline {
        // Another node takes over.
      } catch let error as Refusal where error.code == Refusal.stopping && ContinuousClock.now < deadline {
        // Another node takes over soon.
      } catch let error as any Refusing where error.refusal.code == SyncError.Code.noDevice.rawValue {
        guard ContinuousClock.now < deadline, try await control.mayHaveCompany() else { throw SyncError.of(error) }
      } catch {
        throw SyncError.of(error)
      }
      try await Task.sleep(for: SyncEngine.look)
    }
  }
}

extension NodeControl {
  /// Returns whether another device could connect: the account has one, an address is dialled, or something is shared.
  fileprivate func mayHaveCompany() async throws -> Bool {
    do {
      let status = try await perform(StatusRequest())
      return !status.peers.isEmpty || status.zones.count > 1
    } catch let error as ControlClientError where error.isOver {
      // The next node is asked, if there is one.
      return true
    }
  }
}

extension SyncError {
  fileprivate static func notInTime(_ report: WaitReport, _ timeout: Duration) -> SyncError {
    var reasons = report.missing.map { missing in
      "\(missing.name ?? missing.device): \(missing.behind.there) change sets to send, \(missing.behind.here) to fetch"
    }
    if report.pending > 0 { reasons.append("\(report.pending) rows are not in a change set yet") }
    if report.assets.coming.assets > 0 { reasons.append("\(report.assets.coming.assets) long BLOBs are missing") }
    if let locked = report.locked { reasons.append(locked) }
    return SyncError(
      .notInTime,
      "Not everything was sent and fetched within \(timeout.formatted). The engine goes on with it.\n"
        + reasons.map { "- \($0)" }.joined(separator: "\n"), reasons: reasons)
  }
}

extension Duration {
  fileprivate var formatted: String { "\(self / .seconds(1)) seconds" }
}
