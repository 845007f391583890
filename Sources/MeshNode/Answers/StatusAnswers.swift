import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Reports the state of the node and of its zones.
struct StatusAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func status() async throws -> StatusReport {
    let doctor = Doctor(context: context)
    let lock = try await doctor.file.lockCheck()
    let assets = AssetAnswers(context: context)
    let zone = try replica.privateZone.flatMap { try replica.zoneViews.view($0) }
    return StatusReport(
      running: isRunning, account: replica.account.id.description, accountName: zone?.title ?? "",
      device: replica.device.description, deviceName: devices.plainName(of: replica.device) ?? "",
      instance: zone?.author?.instance.description, database: store.path,
      listen: addresses.listening?.description,
      tables: try store.tables.list().map(\.name), pending: try store.localWrites.pendingCount(),
      held: try HeldAnswers(context: context).counts(),
      work: try store.figures.workInProgress().map {
        WorkReport(task: WorkReport.Kind($0.task), table: $0.table, done: $0.done, total: $0.total)
      },
      receipts: try ShareAnswers(context: context).receiptCounts(),
      ended: Dictionary(
        ShareAnswers(context: context).ended.map { ($0.zone.description, $0.reason) }, uniquingKeysWith: { $1 }),
      assets: try assets.lacking(), fetching: try assets.fetching(),
      keptBlobs: KeptBlobs(bytes: try store.assets.overwrittenBytes(), limit: configuration.keptBlobs),
      quotas: try QuotaAnswers(context: context).quotas(), alarms: try doctor.alarms(), warnings: doctor.warnings(lock),
      zones: try zones(), peers: try PeerAnswers(context: context).peers())
  }

  func zones() throws -> [ZoneReport] { try replica.zoneIDs.compactMap { try zoneReport($0) } }

  private func zoneReport(_ id: ZoneID) throws -> ZoneReport? {
    // After a share has ended for this account, only its log is here.
    guard replica.reasonOutside(id) == nil, let view = try replica.zoneViews.view(id) else { return nil }
    let vector = view.merged.numbers.map { ($0.key.description, $0.value) }
    return ZoneReport(
      id: id.description, name: view.title, owner: view.owner?.description ?? "",
      role: view.owner == replica.account.id
        ? .owner : replica.shareState(id)?.permission(replica.account.id) == .readWrite ? .readWrite : .readOnly,
      records: Int(view.digest.records),
      vector: Dictionary(vector, uniquingKeysWith: max), digest: view.digest.hash.hexadecimal)
  }
}

extension WorkReport.Kind {
  init(_ task: WorkInProgress.Kind) {
    switch task {
    case .takeIn: self = .takeIn
    case .compare: self = .compare
    case .recall: self = .recall
    case .show: self = .show
    }
  }
}
