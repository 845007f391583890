import MeshCore

/// Requests assets from members, gives them to members, and puts them into their rows.
extension Replica {
  /// An incomplete asset of which a peer was told.
  struct ToldAsset: Hashable {
    let zone: ZoneID
    let asset: AssetID
  }

  /// The maximum number of assets whose growth is told to one peer.
  private static let toldAssets = 2_048
  /// The number of unrequested chunks after which their sender's session ends.
  private static let unaskedChunks = 1_024

  /// The number of complete assets that are put in place together while others arrive, because one transaction can take
  /// many short ones. The next tick doesn't wait for more.
  private static let placedTogether = 100

  /// Does one bounded step. Returns true if more is to do.
  func workOnAssets(now: Moment) throws -> Bool {
    if needsPlacing {
      completeAssets = 0
      needsPlacing = try store.placeAssets(now: now.wall)
      if needsPlacing {
        hasBacklogMoved = true
        // Looking for more is expensive if there are many. Half of the current assets come first.
        if fetching.isEmpty || assetsSinceLook >= AssetFetching.assets / 2 { needsAssets = true }
        return true
      }
    }
    return try needsAssets ? refreshAssets(now: now) : false
  }

  /// Looks up the assets that rows wait for. Returns true if some of them are complete and have to be put in place.
  func refreshAssets(now: Moment) throws -> Bool {
    needsAssets = false
    assetsSinceLook = 0
    let wanted = try store.wantedAssets(limit: AssetFetching.assets, besides: fetching.setAside)
    fetching.want(wanted)
    if !assetFaults.isEmpty {
      let known = Set(wanted.assets.map(\.asset.id)).union(fetching.setAside)
      assetFaults = assetFaults.filter { known.contains($0.key) }
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
    if assetFaults.updateValue(fault, forKey: asset) != fault { actions.append(.log(.warning, fault)) }
  }

  func requestChunks(now: Moment) {
    guard !fetching.isEmpty else { return }
    for request in fetching.requests(of: assetPeers, now: now.steady) {
      send(request.link, .assetWant(request.zone, request.asset, request.chunks))
    }
  }

  /// The peers that can be asked for chunks.
  var assetPeers: [AssetFetching.Peer] {
    sessions.keys.sorted().compactMap { link in
      guard let session = sessions[link], session.conversation.isOpen, let device = session.peer?.device,
        !liars.contains(device)
      else { return nil }
      return AssetFetching.Peer(link: link, device: device, zones: Set(session.conversation.commonZones))
    }
  }

  /// Does the periodic work on assets, a few times a second.
  func tickAssets(now: Moment) throws {
    if completeAssets > 0 { needsPlacing = true }
    fetching.expire(now: now.steady)
    if fetching.makeWay(assetPeers, now: now.steady) { needsAssets = true }
    requestChunks(now: now)
    for link in sessions.keys.sorted() {
      for told in sessions[link]?.told(of: grownAssets) ?? [] { try tellChunks(link, told.zone, told.asset) }
    }
    grownAssets = []
    if !lastSources.isEmpty {
      try store.noteSources(lastSources, now: now.wall)
      lastSources = [:]
    }
    try tellBacklogs(now: now)
  }

  // MARK: Receiving chunks

  func learnChunk(_ link: LinkID, _ index: Int, _ asset: AssetID, _ bytes: [UInt8], now: Moment) throws {
    guard fetching.arrived(index, of: asset, from: link, now: now.steady) else {
      sessions[link]?.unaskedChunks += 1
      guard let count = sessions[link]?.unaskedChunks, count > Self.unaskedChunks else { return }
      return end(link, .protocolViolation, "chunks of assets came that nobody asked for")
    }
    switch try store.stage(bytes, chunk: index, of: asset) {
    case .staged(let isComplete):
      // Another chunk that was still arriving may have found room. The chunk that didn't is requested later.
      if !fetching.isPaused(asset, now: now.steady) { assetFaults[asset] = nil }
      grownAssets.insert(asset)
      assetBytes += bytes.count
      assetRate.add(bytes.count, now: now.steady)
      fetching.gave(bytes.count, of: asset, link, now: now.steady)
      fetching.staged(index, of: asset)
      hasBacklogMoved = true
      if isComplete {
        completeAssets += 1
        assetsSinceLook += 1
        if fetching.isEmpty || completeAssets >= Self.placedTogether { needsPlacing = true }
        if fetching.isEmpty { needsAssets = true }
      }
    case .notNeeded:
      needsAssets = true
    case .noRoom(let reason):
      pause(asset, reason, now: now)
    case .wrong:
      // An honest node verifies the chunks that it gives.
      if let device = sessions[link]?.peer?.device, liars.count < Limits.devicesEver { liars.insert(device) }
      refusals["wrong-chunk", default: 0] += 1
      probe?(.chunkWrong)
      fetching.lost(link)
      return end(link, .protocolViolation, "a chunk of an asset is not what its manifest says")
    }
    requestChunks(now: now)
  }

  func learnChunks(_ link: LinkID, _ asset: AssetID, _ chunks: ChunkSet?, now: Moment) {
    learnHolder(link, asset, chunks)
    fetching.has(chunks, of: asset, link, now: now.steady)
    requestChunks(now: now)
  }

  // MARK: Giving chunks

  /// Gives chunks only to members of a zone in which a record uses the asset. It is not enough to know the asset's
  /// name.
  func giveChunks(_ link: LinkID, _ zone: ZoneID, _ asset: AssetID, _ chunks: Range<Int>) throws {
    guard isCommon(zone, link), evictions[asset] == nil else { return send(link, .assetHas(zone, asset, nil)) }
    var lacks = chunks.isEmpty
    for index in chunks {
      guard sessions[link]?.outflow.hasRoom == true else {
        // The chunk is given once the connection has accepted the earlier ones. A peer that requests more than can be
        // delayed has to ask again.
        if sessions[link]?.outflow.chunks.count ?? 0 < Choices.chunksKeptBack {
          sessions[link]?.outflow.chunks.append(Outflow.Chunk(zone: zone, asset: asset, index: index))
        }
        continue
      }
      if let bytes = try store.chunk(index, of: asset, zone: zone) {
        send(link, .assetChunk(zone, asset, index, bytes))
      } else {
        lacks = true
      }
    }
    if lacks { try tellChunks(link, zone, asset) }
  }

  /// Gives one delayed chunk.
  func giveChunk(_ link: LinkID, _ chunk: Outflow.Chunk) throws {
    try giveChunks(link, chunk.zone, chunk.asset, chunk.index..<chunk.index + 1)
  }

  private func tellChunks(_ link: LinkID, _ zone: ZoneID, _ asset: AssetID) throws {
    let chunks = isCommon(zone, link) && evictions[asset] == nil ? try store.chunks(of: asset, zone: zone) : nil
    send(link, .assetHas(zone, asset, chunks))
    let told = ToldAsset(zone: zone, asset: asset)
    if let chunks, !chunks.isComplete, sessions[link]?.toldAssets.count ?? 0 < Self.toldAssets {
      sessions[link]?.toldAssets.insert(told)
    } else {
      sessions[link]?.toldAssets.remove(told)
    }
  }
}

extension Replica.Session {
  fileprivate func told(of assets: Set<AssetID>) -> [Replica.ToldAsset] {
    toldAssets.filter { assets.contains($0.asset) }.sorted { ($0.zone, $0.asset) < ($1.zone, $1.asset) }
  }
}
