import FoundationEssentials
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Handles BLOBs that are downloading, and those that this node does without.
struct AssetAnswers: NodePart {
  let context: NodeContext

  func assets() throws -> AssetsReport {
    let awaited = try awaitedAssets()
    return AssetsReport(
      waiting: awaited.assets, complete: awaited.complete, received: replica.downloads.bytes,
      speed: replica.downloads.speed(now: time.now))
  }

  func show(_ request: AssetShowRequest) throws -> AssetReport {
    guard let key = request.key else { return try awaitedAssets(table: request.table) }
    return AssetReport(assets: reports(try places(request.table, key, request.column)))
  }

  private func awaitedAssets(table: String? = nil) throws -> AssetReport {
    let awaited = try store.assets.awaited(table: table, limit: Self.assetsListed + 1)
    return AssetReport(
      assets: reports(Array(awaited.prefix(Self.assetsListed))), complete: awaited.count <= Self.assetsListed)
  }

  func fetch(_ request: AssetFetchRequest) throws -> AssetReport {
    if let key = request.key {
      for place in try places(request.table, key, request.column) where !place.isShown {
        try store.assets.request(place.asset.id)
      }
    } else {
      try store.assets.requestAll(table: request.table)
    }
    replica.downloads.choicesChanged()
    return try show(AssetShowRequest(table: request.table, key: request.key, column: request.column))
  }

  nonisolated(nonsending) func evict(_ request: AssetEvictRequest) async throws -> AssetReport {
    guard let key = request.key else {
      throw Refusal(code: "evict.what", message: "say which record: its key follows the table.", exit: .usage)
    }
    let places = try places(request.table, key, request.column).filter { $0.here > 0 || $0.isFetched }
    for asset in Set(places.map(\.asset.id)).sorted() {
      // If nothing of a BLOB is here, its download simply stops.
      let isNowhere = places.allSatisfy { $0.asset.id != asset || $0.here == 0 }
      try await evict(asset, zones: Set(places.map(\.zone)), force: request.force ?? false || isNowhere)
    }
    return try show(AssetShowRequest(table: request.table, key: key, column: request.column))
  }

  func policies() throws -> AssetPoliciesReport {
    AssetPoliciesReport(policies: try store.assets.policies().mapValues { $0 == .always ? .always : .onDemand })
  }

  func setPolicy(_ request: AssetPolicyRequest) throws -> AssetPoliciesReport {
    try store.assets.setPolicy(request.policy == .always ? .always : .onDemand, table: request.table)
    replica.downloads.choicesChanged()
    return try policies()
  }

  // MARK: Evicting

  /// The time that members have to say which chunks they have. They answer between two steps of their work.
  private static let answerLimit = Duration.seconds(10)
  /// Programs may write between a check and the lock, but not endlessly.
  private static let evictionAttempts = 5

  private nonisolated(nonsending) func evict(_ asset: AssetID, zones: Set<ZoneID>, force: Bool) async throws {
    guard replica.copies.beginEviction(asset, zones: zones) else {
      throw Refusal(code: "asset.busy", message: "this BLOB is being evicted already.")
    }
    defer { replica.copies.endEviction(asset) }
    driver.performActions()
    if !force { try await findHolder(of: asset) }
    for attempt in 1... {
      try await driver.workOff(until: .now + Self.answerLimit)
      do {
        try store.assets.evict(asset)
        break
      } catch EvictionError.written where attempt < Self.evictionAttempts {
        try await Task.sleep(for: Self.look)
      }
    }
    replica.downloads.choicesChanged()
  }

  /// Waits for a device that has the asset.
  ///
  /// - Throws: A `Refusal` if no connected device that this account trusts has it.
  private nonisolated(nonsending) func findHolder(of asset: AssetID) async throws {
    let deadline = ContinuousClock.now + Self.answerLimit
    while replica.copies.holders(asset) == .asking, ContinuousClock.now < deadline {
      try await Task.sleep(for: Self.look)
    }
    if case .held = replica.copies.holders(asset) { return }
    throw Refusal(
      code: "asset.lastCopy",
      message:
        "no connected device of this account, or of the share's owner, says that it has this BLOB, so this copy may be the last "
        + "one. Connect such a device (mesh peers), or evict it all the same: add --force.")
  }

  // MARK: Figures

  /// Returns the assets that this node is missing.
  func lacking() throws -> LackingAssets {
    let now = time.now
    return try replica.zoneIDs.filter { replica.reasonOutside($0) == nil }.reduce(into: LackingAssets()) {
      $0 += LackingAssets(try replica.downloads.backlog($1, now: now))
    }
  }

  /// Returns the assets that this node downloads, and those of them that don't arrive.
  func fetching() throws -> FetchingAssets {
    let now = time.now
    let absent = replica.downloads.absentAssets(now: now)
    var fetching = FetchingAssets(sources: replica.downloads.sources(now: now).map(device))
    var stuck: [String: FetchingAssets.Stuck] = [:]
    for fetched in try store.assets.fetched() {
      let fault = fetched.obstacle ?? replica.downloads.faults[fetched.asset.id]
      let lacks = fetched.here < fetched.asset.size
      // Without a daemon, it is unknown which devices have it.
      let isAbsent = isRunning && lacks && absent?.contains(fetched.asset.id) ?? true
      let silent = isAbsent && fault == nil ? replica.downloads.silent(of: fetched.asset.id, now: now) : []
      guard let reason = fault ?? (isAbsent ? absence(silent: silent) : nil) else {
        fetching.assets += 1
        fetching.size += fetched.asset.size
        fetching.here += fetched.here
        continue
      }
      stuck[reason, default: .init(state: fault == nil ? .absent : .stuck, reason: reason)].assets += 1
      stuck[reason]?.size += fetched.asset.size
    }
    fetching.stuck = stuck.values.sorted { $0.reason < $1.reason }
    return fetching
  }

  /// Says why an asset doesn't come from any connected device.
  private func absence(silent: [DeviceID]) -> String {
    guard !silent.isEmpty else { return Self.absent }
    return Self.unanswered + silent.map(name).joined(separator: ", ")
  }

  private static let absent = "no connected device has it"
  private static let unanswered = "it was requested in vain, and is requested again within minutes, from "

  /// Returns the assets that a peer is missing, or nil if it hasn't reported every common zone.
  func lacking(_ peer: PeerView) -> LackingAssets? {
    guard peer.zones.allSatisfy({ peer.backlogs[$0] != nil }) else { return nil }
    return peer.backlogs.values.reduce(into: LackingAssets()) { $0 += LackingAssets($1) }
  }

  /// The maximum number of assets in a report for a person.
  private static let assetsListed = 1_000

  /// Returns the places of a record's assets.
  ///
  /// - Throws: A `Refusal` if there are none.
  private func places(_ table: String, _ written: String, _ column: String?) throws -> [AssetPlace] {
    let keys = try store.tables.keys(written: written, table: table)
    for key in keys {
      let found = try store.assets.places(table: table, key: key, column: column)
      if !found.isEmpty { return found }
    }
    let (shownTable, shownKey, shownColumn) = (printable(table), printable(written), printable(column ?? ""))
    switch try store.assets.lack(table: table, keys: keys, column: column) {
    case .unknownRecord:
      throw Refusal(
        code: "record.unknown",
        message:
          "the table \(shownTable) has no record \(shownKey). A key is given as its column has it: 7 is the number, '7' the text."
      )
    case .unknownColumn(let names):
      throw Refusal(
        code: "column.unknown",
        message:
          "\(shownTable) has no column \(shownColumn) here; it has \(names.map { printable($0) }.joined(separator: ", "))."
      )
    case .pending:
      throw Refusal(
        code: "rows.pending",
        message:
          "a write to the record \(shownKey) of \(shownTable) is still pending: try again, or see mesh status."
      )
    case .tooLong(let message):
      throw Refusal(code: "asset.tooLong", message: "the record \(shownKey) of \(shownTable) is not sent: \(message).")
    case .short:
      throw Refusal(
        code: "asset.unknown",
        message: "the record \(shownKey) of \(shownTable) has no BLOB of more than 16 KiB"
          + (column == nil ? "" : " in the column \(shownColumn)") + "; shorter ones are sent with their rows.")
    @unknown default:
      throw Refusal(code: "asset.unknown", message: "the record \(shownKey) of \(shownTable) has no such BLOB.")
    }
  }

  private func reports(_ places: [AssetPlace]) -> [AssetsReport.Item] {
    let now = time.now
    let absent = replica.downloads.absentAssets(now: now)
    return places.map { report($0, replica.downloads.transfer(of: $0.asset.id, absent: absent, now: now)) }
  }

  private func report(_ place: AssetPlace, _ transfer: AssetDownloads.Transfer) -> AssetsReport.Item {
    let state = state(place, transfer)
    let isComing = state == .coming && transfer.speed > 0
    return AssetsReport.Item(
      asset: place.asset.id.description, size: place.asset.size, here: place.here, zone: place.zone.description,
      table: place.table, key: ReportedValue(place.key), column: place.column, state: state,
      reason: reason(place, state, transfer), sources: transfer.sources.map(device), speed: transfer.speed,
      secondsLeft: isComing ? Double(place.asset.size - place.here) / Double(transfer.speed) : nil,
      writtenBy: place.writer.map(device),
      lastSource: place.lastSource.map {
        AssetsReport.Source(
          device: $0.device.description, name: devices.name(of: $0.device), left: Date(milliseconds: $0.time))
      })
  }

  private func name(_ device: DeviceID) -> String { devices.name(of: device) ?? device.description }

  private func device(_ device: DeviceID) -> AssetsReport.Device {
    AssetsReport.Device(device: device.description, name: devices.name(of: device))
  }

  private func state(_ place: AssetPlace, _ transfer: AssetDownloads.Transfer) -> AssetsReport.State {
    if place.isShown { return .here }
    switch place.held {
    case nil, .assetIncomplete, .constraint: break
    case .some: return .held
    }
    guard place.isFetched else { return place.choice == false ? .evicted : .onDemand }
    if (place.obstacle ?? transfer.fault) != nil { return .stuck }
    if place.here == place.asset.size { return place.held == .constraint ? .held : .coming }
    return transfer.isAbsent ? .absent : .coming
  }

  private func reason(
    _ place: AssetPlace, _ state: AssetsReport.State, _ transfer: AssetDownloads.Transfer
  ) -> String? {
    switch state {
    case .here, .coming: nil
    case .stuck: place.obstacle ?? transfer.fault
    case .onDemand: "its table's BLOBs are fetched on demand: mesh asset fetch"
    case .evicted: "mesh asset fetch downloads it again"
    case .held: "its record is held (\(place.held?.name ?? "")); mesh held says what would free it"
    case .absent: transfer.silent.isEmpty ? absence(place) : absence(silent: transfer.silent)
    }
  }

  private func absence(_ place: AssetPlace) -> String {
    var text = Self.absent
    if let source = place.lastSource {
      text += "; \(name(source.device)) had some of it when it left"
    } else if let writer = place.writer, let state = replica.shareState(place.zone),
      let account = state.account(of: writer), state.permission(account) == nil
    {
      text += "; \(name(writer)), which wrote it, is not in the share any more: mesh share receipt may have it there"
    } else if let writer = place.writer, writer != replica.device {
      let isConnected = replica.peerViews.all.contains { $0.device == writer }
      text +=
        "; \(name(writer)), which wrote it, is "
        + (isConnected ? "connected and does not have it any more" : "not connected")
    }
    return text
  }
}

extension LackingAssets {
  init(_ backlog: AssetBacklog) {
    self.init(
      coming: Amount(assets: backlog.coming.assets, bytes: backlog.coming.bytes),
      absent: Amount(assets: backlog.absent.assets, bytes: backlog.absent.bytes))
  }
}
