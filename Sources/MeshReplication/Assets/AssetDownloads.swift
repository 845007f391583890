package import MeshCore

/// Requests assets from members, and puts them into their rows.
package final class AssetDownloads: Part {
  /// The number of unrequested chunks after which their sender's session ends.
  private static let unaskedChunks = 1_024
  /// The number of complete assets that are put in place together while others arrive, because one transaction can take
  /// many short ones. The next tick doesn't wait for more.
  private static let placedTogether = 100
  /// The milliseconds between two statements about assets that are downloading.
  private static let backlogInterval: Int64 = 1_000

  let context: Context
  private let copies: AssetCopies
  private var fetching = AssetFetching()
  /// True if an asset is complete. The next work puts it in place.
  private var needsPlacing = false
  /// The number of assets that became complete since assets were last put in place.
  private var completeAssets = 0
  /// The number of assets that became complete since the wanted assets were last looked up.
  private var assetsSinceLook = 0
  /// True if the missing assets may differ from what peers were told.
  private var hasBacklogMoved = false
  private var backlogs: [ZoneID: ToldBacklog] = [:]
  /// The devices that gave chunks of assets and left before these were complete. They are about to be stored.
  private var lastSources: [AssetID: DeviceID] = [:]
  private var rate = TransferRate()
  /// The reasons that assets can't be stored here now.
  package private(set) var faults: [AssetID: String] = [:]
  /// The bytes of assets that arrived since the start.
  package private(set) var bytes = 0

  private struct ToldBacklog {
    /// The backlog of assets that peers were told since the last acknowledgement, and the time at which they were.
    var told: AssetBacklog?
    var time: Int64 = .min
    /// True if a part of it was still arriving.
    var isComing = false
  }

  init(_ context: Context, _ copies: AssetCopies) { (self.context, self.copies) = (context, copies) }

  /// True if something waits for the next tick.
  var needsTick: Bool { !fetching.isEmpty || completeAssets > 0 || !lastSources.isEmpty }

  /// Does one bounded step. Returns true if more is to do.
  func work(now: Moment) throws -> Bool {
    if needsPlacing {
      completeAssets = 0
      needsPlacing = try store.assets.placeAssets(now: now.wall)
      if needsPlacing {
        hasBacklogMoved = true
        // Looking for more is expensive if there are many. Half of the current assets come first.
        if fetching.isEmpty || assetsSinceLook >= AssetFetching.assets / 2 { due.note(.assets) }
        return true
      }
    }
    return try due.contains(.assets) ? refresh(now: now) : false
  }

  /// Looks up the assets that rows wait for. Returns true if some of them are complete and have to be put in place.
  @discardableResult
  func refresh(now: Moment) throws -> Bool {
    due.finish(.assets)
    copies.noteRows()
    assetsSinceLook = 0
    let wanted = try store.assets.wantedAssets(limit: AssetFetching.assets, besides: fetching.setAside)
    fetching.want(wanted)
    if !faults.isEmpty {
      let known = Set(wanted.assets.map(\.asset.id)).union(fetching.setAside)
      faults = faults.filter { known.contains($0.key) }
    }
    for entry in wanted.assets { if let fault = entry.fault { pause(entry.asset.id, fault, now: now) } }
    hasBacklogMoved = true
    // Some assets are already here, in other rows.
    needsPlacing = wanted.assets.contains(where: \.staged.isComplete)
    requestChunks(now: now)
    return needsPlacing
  }

  /// Pauses an asset that can't be stored now. Others may still be stored.
  private func pause(_ asset: AssetID, _ fault: String, now: Moment) {
    fetching.pause(asset, now: now.steady)
    if faults.updateValue(fault, forKey: asset) != fault { outbox.log(.warning, fault) }
  }

  private func requestChunks(now: Moment) {
    guard !fetching.isEmpty else { return }
    for request in fetching.requests(of: peers, now: now.steady) {
      sessions.send(request.link, .assetWant(request.zone, request.asset, request.chunks))
    }
  }

  /// The peers that can be asked for chunks.
  private var peers: [AssetFetching.Peer] {
    sessions.openLinks.compactMap { link in
      guard let session = sessions[link], let device = session.peer?.device, !incidents.liars.contains(device)
      else { return nil }
      return AssetFetching.Peer(link: link, device: device, zones: Set(session.machine.commonZones))
    }
  }

  /// Does the periodic work on assets, a few times a second.
  func tick(now: Moment) throws {
    if completeAssets > 0 { needsPlacing = true }
    fetching.expire(now: now.steady)
    if fetching.makeWay(peers, now: now.steady) { due.note(.assets) }
    requestChunks(now: now)
    try copies.tellGrown()
    if !lastSources.isEmpty {
      try store.assets.noteSources(lastSources, now: now.wall)
      lastSources = [:]
    }
    try tellBacklogs(now: now)
  }

  /// Handles requested assets and changed policies of tables.
  package func choicesChanged() {
    forgetAside()
    due.note(.assets)
    for zone in zones.ids { forgetBacklog(zone) }
  }

  /// Forgets which assets made way, because a new peer may have them.
  func forgetAside() { fetching.forgetAside() }

  /// Handles a lost peer. Its assets name it as their last source.
  func lose(_ link: LinkID, _ device: DeviceID?) {
    if let device {
      for asset in fetching.given(by: link) { lastSources[asset] = device }
    }
    fetching.lost(link)
  }

  // MARK: Receiving chunks

  func learnChunk(_ link: LinkID, _ index: Int, _ asset: AssetID, _ chunk: [UInt8], now: Moment) throws {
    guard fetching.arrived(index, of: asset, from: link, now: now.steady) else {
      sessions[link]?.chunks.noteUnasked()
      guard let count = sessions[link]?.chunks.unasked, count > Self.unaskedChunks else { return }
      return sessions.end(link, .protocolViolation, "chunks of assets came that nobody asked for")
    }
    switch try store.assets.stage(chunk, chunk: index, of: asset) {
    case .staged(let isComplete):
      // Another chunk that was still arriving may have found room. The chunk that didn't is requested later.
      if !fetching.isPaused(asset, now: now.steady) { faults[asset] = nil }
      copies.noteGrown(asset)
      bytes += chunk.count
      rate.add(chunk.count, now: now.steady)
      fetching.gave(chunk.count, of: asset, link, now: now.steady)
      fetching.staged(index, of: asset)
      hasBacklogMoved = true
      if isComplete {
        completeAssets += 1
        assetsSinceLook += 1
        if fetching.isEmpty || completeAssets >= Self.placedTogether { needsPlacing = true }
        if fetching.isEmpty { due.note(.assets) }
      }
    case .notNeeded:
      due.note(.assets)
    case .noRoom(let reason):
      pause(asset, reason, now: now)
    case .wrong:
      // An honest node verifies the chunks that it gives.
      if let device = sessions[link]?.peer?.device { incidents.note(liar: device) }
      incidents.refuse("wrong-chunk")
      probe?(.chunkWrong)
      fetching.lost(link)
      return sessions.end(link, .protocolViolation, "a chunk of an asset is not what its manifest says")
    }
    requestChunks(now: now)
  }

  func learnChunks(_ link: LinkID, _ asset: AssetID, _ chunks: ChunkSet?, now: Moment) {
    copies.learnHolder(link, asset, chunks)
    fetching.note(chunks, of: asset, link, now: now.steady)
    requestChunks(now: now)
  }

  // MARK: Backlogs

  /// Returns what this node is missing of a zone's assets.
  package func backlog(_ zone: ZoneID, now: Moment) throws -> AssetBacklog {
    try store.assets.assetBacklog(zone, absent: fetching.absent(peers, now: now.steady))
  }

  /// Tells the peers a zone's backlog again, because it is part of an acknowledgement.
  func forgetBacklog(_ zone: ZoneID) { backlogs[zone]?.told = nil }

  /// Sends the current backlogs of assets to the peers.
  ///
  /// An acknowledgement covers rows, but not the chunks that travel separately. A peer that waits until its writes are
  /// on another device relies on these backlogs. The acknowledgement isn't delayed until the chunks arrive, because a
  /// source that never returns would then block everything. So after each acknowledgement, and while chunks arrive, the
  /// node says how much of the acknowledged assets is missing.
  func tellBacklogs(now: Moment) throws {
    guard !needsPlacing, !due.contains(.assets) else { return }
    for id in zones.ids {
      var entry = backlogs[id] ?? ToldBacklog()
      guard hasBacklogMoved || entry.told == nil else { continue }
      let links = sessions.links(sharing: id)
      guard !links.isEmpty else { continue }
      let isComing = entry.told.map { $0.coming.assets > 0 } ?? entry.isComing
      guard !isComing || fetching.isEmpty || now.steady &- entry.time >= Self.backlogInterval else { continue }
      let backlog = try backlog(id, now: now)
      entry.isComing = backlog.coming.assets > 0
      entry.time = now.steady
      if entry.told != backlog {
        entry.told = backlog
        for link in links { sessions.send(link, .assetBacklog(id, backlog)) }
      }
      backlogs[id] = entry
    }
    hasBacklogMoved = backlogs.values.contains(where: \.isComing)
  }

  // MARK: Figures

  /// The state of an asset's download.
  package struct Transfer: Sendable {
    /// The devices that have missing chunks, or are being asked.
    package var sources: [DeviceID]
    /// The speed in bytes per second.
    package var speed: Int
    /// True if no connected device gives more of it than this node has.
    package var isAbsent: Bool
    /// The connected devices that may have it, and left requests unanswered. They are asked again later.
    package var silent: [DeviceID]
    /// The reason that the asset can't be stored now.
    package var fault: String?
  }

  /// Returns the state of an asset's download.
  ///
  /// - Parameter absent: The result of `absentAssets`.
  package func transfer(of asset: AssetID, absent: Set<AssetID>?, now: Moment) -> Transfer {
    let links = fetching.sources(of: asset, peers, now: now.steady)
    return Transfer(
      sources: links.compactMap { sessions[$0]?.peer?.device }, speed: fetching.speed(of: asset, now: now.steady),
      isAbsent: absent?.contains(asset) ?? true, silent: silent(of: asset, now: now), fault: faults[asset])
  }

  /// Returns the connected devices that may have an asset, and left requests unanswered.
  package func silent(of asset: AssetID, now: Moment) -> [DeviceID] {
    fetching.silent(of: asset, peers, now: now.steady).compactMap { sessions[$0]?.peer?.device }
  }

  /// Returns the assets of which no connected device gives more than this node has, or nil if no device is connected.
  package func absentAssets(now: Moment) -> Set<AssetID>? {
    let peers = peers
    return peers.isEmpty ? nil : fetching.absent(peers, now: now.steady)
  }

  /// Returns the devices that currently give any asset.
  package func sources(now: Moment) -> [DeviceID] {
    fetching.sources(peers, now: now.steady).compactMap { sessions[$0]?.peer?.device }
  }

  /// Returns the speed of all assets in bytes per second.
  package func speed(now: Moment) -> Int { rate.perSecond(now: now.steady) }
}
