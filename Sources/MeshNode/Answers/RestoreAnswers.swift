import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Restores values that were overwritten, lost or deleted.
struct RestoreAnswers: NodePart {
  let context: NodeContext

  func restore(_ request: RestoreRequest) throws -> RestoreReport {
    let restored = try restored(request)
    replica.databaseChanged()
    return RestoreReport(
      table: restored.table, key: ReportedValue(restored.key), deleted: restored.values == nil,
      values: (restored.values ?? [:]).mapValues { ReportedValue($0) }, lacking: restored.lacking, gone: restored.gone,
      waitsFor: restored.waitsFor.map(HoldReport.Awaited.init), descendants: restored.descendants)
  }

  private func restored(_ request: RestoreRequest) throws -> RestoredRecord {
    if let conflict = request.conflict { return try store.restore(.conflict(conflict)) { replica.reader($0) } }
    guard let table = request.table, let key = request.key else {
      throw Refusal(
        code: "restore.what", message: "Say what is to be restored: a table and a key, or a conflict.", exit: .usage)
    }
    // A text may stand for several keys. The first that exists counts.
    var unknown = RestoreError.unknownRecord(table: printable(table))
    for key in try store.keys(written: key, table: table) {
      do {
        let wanted = Restoration.record(
          table: table, key: key, columns: request.columns ?? [], descendants: request.descendants ?? false)
        return try store.restore(wanted) { replica.reader($0) }
      } catch let error as RestoreError {
        guard case .unknownRecord = error else { throw error }
        unknown = error
      }
    }
    throw unknown
  }
}
