import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Lists the values that lost against others, and restores values that were overwritten, lost or deleted.
struct ConflictAnswers: NodePart {
  let context: NodeContext

  func conflicts(_ request: ConflictsRequest) throws -> ConflictsReport {
    let page = try store.conflicts.list(
      ConflictFilter(
        table: request.table, zone: try request.zone.map(zone(named:)), device: try request.device.map(conflictDevice),
        since: request.since.map { Int64(($0.timeIntervalSince1970 * 1_000).rounded(.up)) }, after: request.after,
        limit: min(max(request.limit ?? ConflictsRequest.pageSize, 1), ConflictsRequest.pageSize),
        includesDismissed: request.dismissed ?? false))
    return ConflictsReport(
      conflicts: page.conflicts.map(conflictReport), total: page.total, dropped: page.dropped,
      dismissed: page.dismissed, next: page.hasMore ? page.conflicts.last?.id : nil)
  }

  /// Returns a device of any account by its id or its name, among the devices in conflicts.
  private func conflictDevice(_ text: String) throws -> DeviceID {
    let all = try store.conflicts.devices()
    if let device = try DeviceID.named(text, among: all) { return device }
    let named = all.filter { devices.name(of: $0) == text }
    if let only = named.first, named.count == 1 { return only }
    throw Refusal(
      code: "device.unknown",
      message: named.isEmpty
        ? "no device in the conflicts here is called \(printable(text)): mesh conflicts --json names them."
        : "\(named.count) devices in the conflicts here are called \(printable(text)): mesh conflicts --json has their ids."
    )
  }

  private func conflictReport(_ conflict: Conflict) -> ConflictReport {
    func written(_ stamp: Stamp) -> Date? {
      stamp.time == .zero ? nil : Date(milliseconds: stamp.time.noted.milliseconds)
    }
    func side(
      _ value: Value, _ stamp: Stamp, isDelete: Bool, isReverted: Bool = false, hasBytes: Bool? = nil
    ) -> ConflictReport.Side {
      ConflictReport.Side(
        value: ReportedValue(value), deleted: isDelete, reverted: isReverted, device: stamp.author.device.description,
        deviceName: devices.name(of: stamp.author.device), written: written(stamp), imported: stamp.time.isImport,
        bytesHere: hasBytes)
    }
    return ConflictReport(
      id: conflict.id, zone: conflict.zone.description, table: conflict.table, key: ReportedValue(conflict.key),
      column: conflict.column,
      winner: side(
        conflict.winnerValue, conflict.winner, isDelete: conflict.isWinnerDelete, isReverted: conflict.isReverted),
      lostTo: conflict.beatenBy.map {
        ConflictReport.Write(
          device: $0.author.device.description, deviceName: devices.name(of: $0.author.device), written: written($0))
      },
      loser: side(
        conflict.loserValue, conflict.loser, isDelete: conflict.column == nil, hasBytes: conflict.hasBytes),
      found: Date(milliseconds: conflict.found), dismissed: conflict.isDismissed)
  }

  func dismiss(_ request: DismissRequest) throws -> DismissReport {
    guard request.conflicts?.isEmpty == false || request.through != nil else {
      throw Refusal(
        code: "dismiss.what", message: "say which conflicts are to be dismissed: their numbers, or the last one.",
        exit: .usage)
    }
    let named = try store.conflicts.dismiss(Set(request.conflicts ?? []))
    return DismissReport(dismissed: named + (try request.through.map(store.conflicts.dismiss(through:)) ?? 0))
  }

  // MARK: Restoring

  nonisolated(nonsending) func restore(_ request: RestoreRequest) async throws -> RestoreReport {
    try await takeInWrites()
    let restored = try restored(request)
    replica.databaseChanged()
    return RestoreReport(
      table: restored.table, key: ReportedValue(restored.key), deleted: restored.values == nil,
      unchanged: restored.isUnchanged,
      values: (restored.values ?? [:]).mapValues { ReportedValue($0) }, lacking: restored.lacking, gone: restored.gone,
      waitsFor: restored.waitsFor.map(HoldReport.Awaited.init), descendants: restored.descendants)
  }

  private func restored(_ request: RestoreRequest) throws -> RestoredRecord {
    if let conflict = request.conflict { return try store.history.restore(.conflict(conflict)) { replica.reader($0) } }
    guard let table = request.table, let key = request.key else {
      throw Refusal(
        code: "restore.what", message: "say what is to be restored: a table and a key, or a conflict.", exit: .usage)
    }
    let zone = try request.zone.map(zone(named:))
    // A text may stand for several keys. The first that exists counts.
    var unknown: RestoreError?
    for key in try store.tables.keys(written: key, table: table) {
      do {
        let wanted = Restoration.record(
          table: table, key: key, columns: request.columns ?? [], descendants: request.descendants ?? false,
          zone: zone)
        return try store.history.restore(wanted) { replica.reader($0) }
      } catch let error as RestoreError {
        guard case .unknownRecord = error else { throw error }
        unknown = unknown ?? error
      }
    }
    throw unknown ?? RestoreError.unknownRecord(table: table, key: .text(key))
  }
}
