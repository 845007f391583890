import Foundation
import Logging
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// The number of values of this machine's own copy that lost against other devices, as the log has reported.
struct ImportNotice {
  /// The newest conflict at the time of the last count.
  var newest: Int64 = 0
  var said = 0
}

extension Node {
  /// Reports how much of an older copy of the tables the other devices have changed, after a device joined with it.
  func noteLostImports() throws {
    let newest = try store.newestConflict()
    guard newest > importNotice.newest else { return }
    importNotice.newest = newest
    let count = try store.lostImports(of: replica.device)
    guard count > importNotice.said else { return }
    importNotice.said = count
    logger.notice(
      """
      \(count.counted("value", "values")) that this file had before its tables or columns were tracked \
      \(count == 1 ? "differs" : "differ") from the mesh's, which the tables have now. mesh conflicts lists them, and mesh restore --conflict puts one back.
      """)
  }

  func conflicts(_ request: ConflictsRequest) throws -> ConflictsReport {
    let page = try store.conflicts(
      ConflictFilter(
        table: request.table, zone: try request.zone.map(conflictZone), device: try request.device.map(conflictDevice),
        since: request.since.map { Int64(($0.timeIntervalSince1970 * 1_000).rounded(.up)) }, after: request.after,
        limit: min(max(request.limit ?? ConflictsRequest.pageSize, 1), ConflictsRequest.pageSize)))
    return ConflictsReport(
      conflicts: page.conflicts.map(conflictReport), total: page.total,
      next: page.hasMore ? page.conflicts.last?.id : nil)
  }

  private func conflictZone(_ text: String) throws -> ZoneID {
    if let zone = try ZoneID.named(text, among: replica.zoneIDs) { return zone }
    let titled = replica.zoneIDs.filter { replica.shareState($0)?.title == text }
    if let only = titled.first, titled.count == 1 { return only }
    throw Refusal(
      code: "zone.unknown",
      message: "\(titled.count) zones are called \(printable(text)): mesh zones lists their ids.")
  }

  /// Returns a device of any account by its id or its name, among the devices in conflicts.
  private func conflictDevice(_ text: String) throws -> DeviceID {
    let devices = try store.conflictDevices()
    if let device = try DeviceID.named(text, among: devices) { return device }
    let named = devices.filter { deviceName($0) == text }
    if let only = named.first, named.count == 1 { return only }
    throw Refusal(
      code: "device.unknown",
      message:
        "\(printable(text)) is \(named.count) of the devices in conflicts here: mesh conflicts --json has their ids.")
  }

  private func conflictReport(_ conflict: Conflict) -> ConflictReport {
    func side(
      _ value: Value, _ stamp: Stamp, isDelete: Bool, hasBytes: Bool? = nil
    ) -> ConflictReport.Side {
      ConflictReport.Side(
        value: ReportedValue(value), deleted: isDelete, device: stamp.author.device.description,
        deviceName: deviceName(stamp.author.device),
        written: stamp.time == .zero ? nil : Self.date(stamp.time.noted.milliseconds), imported: stamp.time.isImport,
        bytesHere: hasBytes)
    }
    return ConflictReport(
      id: conflict.id, zone: conflict.zone.description, table: conflict.table, key: ReportedValue(conflict.key),
      column: conflict.column,
      winner: side(conflict.winnerValue, conflict.winner, isDelete: conflict.isWinnerDelete),
      loser: side(
        conflict.loserValue, conflict.loser, isDelete: conflict.column == nil, hasBytes: conflict.hasBytes),
      found: Self.date(conflict.found))
  }
}
