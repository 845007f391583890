import FoundationEssentials
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Explains the values of a record.
struct RecordAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func explain(_ request: RecordRequest) async throws -> RecordReport {
    try await takeInWrites()
    for key in try store.tables.keys(written: request.key, table: request.table) {
      let records = try store.history.explain(table: request.table, key: key) { replica.reader($0) }
      guard !records.isEmpty else { continue }
      let ways = try WaysOut(store, trusts: devices.isTrusted)
      let isTracked = try store.tables.isTracked(request.table)
      return RecordReport(records: records.map { recordReport($0, ways, isTracked: isTracked) })
    }
    throw Refusal(
      code: "record.unknown",
      message:
        "the table \(printable(request.table)) has no record with the key \(printable(request.key.isEmpty ? "''" : request.key)), and mesh has never read one."
    )
  }

  private func recordReport(
    _ record: RecordExplanation, _ ways: WaysOut, isTracked: Bool
  ) -> RecordReport.Record {
    var hold = record.held.map { HeldAnswers.hold($0, ways) }
    if hold == nil, record.isAlive, !isTracked {
      let table = printable(record.table)
      hold = HoldReport(
        reason: "untracked", message: nil, since: nil, waitsFor: [],
        wayOut: "\(table) is not synchronized here, and its row stays as it is. mesh track \(table) merges both.")
    }
    return RecordReport.Record(
      zone: record.zone.description, zoneName: printable(replica.title(record.zone)), table: record.table,
      key: ReportedValue(record.key), generation: record.generation, deleted: !record.isAlive,
      hold: hold, by: record.life.map { writer($0, record.lifeSigner) },
      movedTo: record.movedTo?.description,
      columns: record.columns.map { column in
        RecordReport.Column(
          name: column.name, value: ReportedValue(column.value), by: writer(column.stamp, column.signer),
          beat: column.beaten.map {
            RecordReport.Beaten(value: ReportedValue($0.value), by: writer($0.stamp, $0.signer), seen: $0.wasSeen)
          }, withheld: column.withheld.map(withheld))
      })
  }

  private func withheld(_ reference: RecordExplanation.Withheld) -> RecordReport.Withheld {
    let parent = HoldReport.Awaited(reference.parent)
    let name = "\(parent.table) \(parent.key)"
    return RecordReport.Withheld(
      shown: ReportedValue(reference.shown), waitsFor: parent,
      wayOut: reference.isParentDeleted
        ? "\(name) is deleted: mesh restore \(parent.table) \(parent.key.argument) brings it back, and the value is shown again."
        : "\(name) is not here: the value is shown when it is.")
  }

  /// Returns the device that signed a value, and the device named by the signer if that is another.
  private func writer(_ stamp: Stamp, _ signer: Author?) -> RecordReport.Writer {
    let written = stamp.time == .zero ? nil : Date(milliseconds: stamp.time.noted.milliseconds)
    guard let signer, signer.device != stamp.author.device else { return writer(stamp.author.device, written) }
    var report = writer(signer.device, nil)
    let named = writer(stamp.author.device, written)
    report.carried = RecordReport.Carried(
      device: named.device, deviceName: named.deviceName, account: named.account, written: named.written)
    return report
  }

  private func writer(_ device: DeviceID, _ written: Date?) -> RecordReport.Writer {
    RecordReport.Writer(
      device: device.description, deviceName: devices.name(of: device),
      account: replica.certificate(of: device)?.account.description, written: written)
  }
}
