import MeshCore

/// Decides which chunks of which assets this node requests from which peers.
///
/// It is a value, like `SessionStateMachine`. Peers are asked in parallel, each for as many chunks as its `ChunkWindow`
/// allows. Change sets therefore never wait behind more chunks than that.
struct AssetFetching: Sendable {
  /// The time that a peer may give none of the requested chunks, in milliseconds. After it, other peers are asked for
  /// them, and this peer is asked for nothing during a pause. The peer's statement that it has the chunks doesn't count.
  static let patience: Int64 = 15_000
  /// The time that a peer may give none of the requested chunks, in milliseconds, before another peer that has nothing
  /// else to give is asked for them as well. The first answer counts.
  static let stall: Int64 = 2_000
  /// The maximum number of times that the pause of a silent peer doubles.
  private static let doublings = 5
  /// The time that a peer is not asked for chunks it doesn't have, in milliseconds. The peer may announce earlier that
  /// it has more.
  static let pause: Int64 = 30_000
  /// The number of assets that are fetched at once.
  static let assets = 1_024
  /// The number of fetched but unavailable assets that make way for others at one time. Each tick therefore makes at
  /// most that many requests in vain.
  static let madeWay = 64
  /// The maximum number of assets that have made way and are remembered: some megabytes.
  static let aside = 65_536
  /// The number of overdue requests of one peer that are remembered. A peer delays no more chunks than that.
  private static let overdue = Choices.chunksKeptBack

  struct Request: Equatable {
    let link: LinkID
    let zone: ZoneID
    let asset: AssetID
    let chunks: Range<Int>
  }

  /// A peer that can be asked, with the zones it shares.
  struct Peer {
    let link: LinkID
    let device: DeviceID
    let zones: Set<ZoneID>
  }

  /// The requests that a device left unanswered since it last gave a chunk.
  private struct Failure {
    var count = 0
    /// Until this time, the device is not asked for anything in any of its sessions.
    var pausedUntil: Int64
  }

  private struct Fetch {
    let zones: [ZoneID]
    /// The place of the asset in `order`.
    let place: Int
    var staged: ChunkSet
    var asked: [Int: LinkID] = [:]
    /// The chunks that peers say they have, and the time until which this node believes them.
    var known: [LinkID: (chunks: ChunkSet, until: Int64)] = [:]
    /// The peers that have given chunks of the asset.
    var givers: Set<LinkID> = []
    var rate = TransferRate()
    /// Until this time, the asset is not requested, because it could not be stored.
    var pausedUntil: Int64 = .min
  }

  /// The chunks that one peer was asked for.
  private struct PeerQueue {
    var window = ChunkWindow()
    /// The requests that fill the window, each with the time of the request. An answer, the loss of interest in the asset,
    /// and `patience` remove them.
    var asked: [Place: Int64] = [:]
    /// The latest requests that were removed without an answer. A chunk that still arrives is not unrequested.
    private(set) var overdue: [Place] = []
    /// The time of the last requested chunk that the peer gave.
    var lastGiven: Int64 = .min
    /// The assets before this place in `order` have no chunk to request from the peer, as far as is known. If many
    /// assets are unavailable, each answer would otherwise look at all of them again.
    var next = 0
    /// The zones for which that is so.
    var zones: Set<ZoneID> = []
    /// True if the peer was asked and has given nothing for `stall`.
    var isStalled = false
    var device: DeviceID?

    mutating func meet(_ peer: Peer) {
      device = peer.device
      if zones != peer.zones { (next, zones) = (0, peer.zones) }
    }

    /// Stops waiting for an answer.
    mutating func giveUp(_ place: Place) {
      asked[place] = nil
      if overdue.count >= AssetFetching.overdue { overdue.removeFirst() }
      overdue.append(place)
    }

    /// Returns false if the chunk was not requested.
    mutating func answered(_ place: Place, now: Int64) -> Bool {
      if let since = asked.removeValue(forKey: place) {
        window.answered(asked: since, now: now)
      } else if let late = overdue.firstIndex(of: place) {
        overdue.remove(at: late)
      } else {
        return false
      }
      (lastGiven, isStalled) = (now, false)
      return true
    }

    /// Forgets the requests that the peer has refused. Returns those of them that filled the window.
    mutating func refused(_ isMeant: (Place) -> Bool) -> [Place] {
      let refused = asked.keys.filter(isMeant)
      for place in refused { asked[place] = nil }
      overdue.removeAll(where: isMeant)
      return refused
    }
  }

  private struct Place: Hashable, Comparable {
    let asset: AssetID
    let index: Int

    static func < (left: Self, right: Self) -> Bool { (left.asset, left.index) < (right.asset, right.index) }
  }

  /// The wanted assets, the most urgent first, and those that became complete since they were looked up.
  private var order: [AssetID] = []
  private var fetches: [AssetID: Fetch] = [:]
  private var queues: [LinkID: PeerQueue] = [:]
  private var failures: [DeviceID: Failure] = [:]
  /// Assets that made way because no peer has them, each with the time until which they stay aside.
  private var aside: [AssetID: Int64] = [:]
  /// True if other assets wait for their turn.
  private var hasMore = false

  /// True if no asset is left to request.
  var isEmpty: Bool { fetches.isEmpty }
  /// The number of chunks that were requested and are waited for.
  var askedCount: Int { queues.values.reduce(0) { $0 + $1.asked.count } }

  /// Sets the wanted assets, the most urgent first. Requests of the others fill no window any more: if a program writes a
  /// BLOB again and again, the next version doesn't wait for answers about the earlier ones.
  mutating func want(_ wanted: WantedAssets) {
    var kept: [AssetID: Fetch] = [:]
    order = []
    hasMore = !wanted.isAll
    for entry in wanted.assets where !entry.staged.isComplete {
      var fetch = Fetch(zones: entry.zones, place: order.count, staged: entry.staged)
      if let known = fetches[entry.asset.id] {
        (fetch.asked, fetch.known, fetch.pausedUntil) = (known.asked, known.known, known.pausedUntil)
        (fetch.givers, fetch.rate) = (known.givers, known.rate)
      }
      order.append(entry.asset.id)
      kept[entry.asset.id] = fetch
    }
    // An asset that is complete is different: the peer owes an answer even if others were faster.
    let dropped = Set(fetches.keys).subtracting(wanted.assets.map(\.asset.id))
    fetches = kept
    for (link, queue) in queues where !dropped.isEmpty {
      for place in queue.asked.keys where dropped.contains(place.asset) { queues[link]?.giveUp(place) }
    }
    lookAgain()
  }

  /// Looks at all assets for each peer from now on.
  private mutating func lookAgain() { for link in queues.keys { queues[link]?.next = 0 } }

  // MARK: Asking

  /// Returns the requests to send now. Devices that left requests unanswered come last, once their pause is over.
  mutating func requests(of peers: [Peer], now: Int64) -> [Request] {
    let able = peers.filter { !isSilent($0.device, now: now) }
    let reliable = able.filter { failures[$0.device] == nil }
    let others = able.filter { failures[$0.device] != nil }
    return (reliable + others).flatMap { requests(of: $0, now: now) + repeated(to: $0, now: now) }
  }

  private mutating func requests(of peer: Peer, now: Int64) -> [Request] {
    var requests: [Request] = []
    var queue = queues[peer.link] ?? PeerQueue()
    queue.meet(peer)
    queues[peer.link] = queue
    var (free, place) = (queue.window.size - queue.asked.count, queue.next)
    defer { queues[peer.link]?.next = place }
    while free > 0, place < order.count {
      // The last asset may have more chunks for the peer.
      defer { if free > 0 { place += 1 } }
      let asset = order[place]
      guard let fetch = fetches[asset], fetch.pausedUntil <= now,
        let zone = fetch.zones.first(where: peer.zones.contains)
      else { continue }
      var next = firstFree(fetch, from: 0, peer.link, now)
      while free > 0, let first = next {
        var end = first + 1
        while end - first < free, firstFree(fetch, from: end, peer.link, now) == end { end += 1 }
        for index in first..<end { ask(index, asset, peer.link, now) }
        requests.append(Request(link: peer.link, zone: zone, asset: asset, chunks: first..<end))
        free -= end - first
        next = firstFree(fetch, from: end, peer.link, now)
      }
    }
    return requests
  }

  /// Returns requests for chunks that stalled peers were asked for. They fill what is free of this peer's window.
  private mutating func repeated(to peer: Peer, now: Int64) -> [Request] {
    let stalled = queues.filter { $0.key != peer.link && $0.value.isStalled }.sorted { $0.key < $1.key }
    guard !stalled.isEmpty, let queue = queues[peer.link], !queue.isStalled else { return [] }
    var requests: [Request] = []
    for place in stalled.flatMap({ $0.value.asked.keys.sorted() })
    where requests.count < queue.window.size - queue.asked.count {
      guard let fetch = fetches[place.asset], fetch.pausedUntil <= now, queue.asked[place] == nil,
        let other = fetch.asked[place.index], queues[other]?.isStalled == true,
        let zone = fetch.zones.first(where: peer.zones.contains), !fetch.staged.contains(place.index),
        fetch.known[peer.link].map({ $0.until <= now || $0.chunks.contains(place.index) }) ?? true
      else { continue }
      ask(place.index, place.asset, peer.link, now)
      requests.append(
        Request(link: peer.link, zone: zone, asset: place.asset, chunks: place.index..<place.index + 1))
    }
    return requests
  }

  /// Returns a chunk that is missing here, that no peer was asked for, and that this peer may have.
  private func firstFree(_ fetch: Fetch, from index: Int, _ link: LinkID, _ now: Int64) -> Int? {
    let known = fetch.known[link].flatMap { $0.until > now ? $0.chunks : nil }
    if let known, known.present == 0 { return nil }
    var next = fetch.staged.firstMissing(from: index)
    while let candidate = next {
      if fetch.asked[candidate] == nil, known?.contains(candidate) ?? true { return candidate }
      next = fetch.staged.firstMissing(from: candidate + 1)
    }
    return nil
  }

  private mutating func ask(_ index: Int, _ asset: AssetID, _ link: LinkID, _ now: Int64) {
    fetches[asset]?.asked[index] = link
    queues[link, default: PeerQueue()].asked[Place(asset: asset, index: index)] = now
  }

  // MARK: Answers

  /// Notes a chunk that arrived. Returns true if it was requested from this peer.
  mutating func arrived(_ index: Int, of asset: AssetID, from link: LinkID, now: Int64) -> Bool {
    guard queues[link]?.answered(Place(asset: asset, index: index), now: now) == true else { return false }
    if let device = queues[link]?.device { failures[device] = nil }
    if fetches[asset]?.asked[index] == link { fetches[asset]?.asked[index] = nil }
    return true
  }

  /// Counts the bytes of a chunk that is stored, before `staged` is called.
  mutating func gave(_ bytes: Int, of asset: AssetID, _ link: LinkID, now: Int64) {
    fetches[asset]?.givers.insert(link)
    fetches[asset]?.rate.add(bytes, now: now)
  }

  mutating func staged(_ index: Int, of asset: AssetID) {
    fetches[asset]?.staged.insert(index)
    guard fetches[asset]?.staged.isComplete == true else { return }
    fetches[asset] = nil
  }

  /// Notes which chunks a peer says it has. Requested chunks that it doesn't have are requested from other peers. It
  /// still has to give the chunks that it says it has in time.
  mutating func note(_ chunks: ChunkSet?, of asset: AssetID, _ link: LinkID, now: Int64) {
    guard let count = fetches[asset]?.staged.count else {
      if let chunks, chunks.present > 0 { aside[asset] = aside[asset].map { min($0, now) } }
      return release(link) { $0.asset == asset }
    }
    let chunks = chunks.flatMap { $0.count == count ? $0 : nil } ?? ChunkSet(count: count)
    fetches[asset]?.known[link] = (chunks, now + Self.pause)
    lookAgain(at: asset, link)
    release(link) { $0.asset == asset && !chunks.contains($0.index) }
  }

  /// Looks at an asset again for a peer, because the peer may have a chunk to request now.
  private mutating func lookAgain(at asset: AssetID, _ link: LinkID) {
    guard let place = fetches[asset]?.place, let next = queues[link]?.next, next > place else { return }
    queues[link]?.next = place
  }

  // MARK: Unavailable assets

  /// The assets that made way.
  var setAside: Set<AssetID> { Set(aside.keys) }

  /// Returns the assets of which no peer has a missing chunk, according to what the peers have said.
  func absent(_ peers: [Peer], now: Int64) -> Set<AssetID> {
    setAside.union(order.filter { heldBackUntil($0, peers, now) != nil })
  }

  /// Lets some unavailable assets make way if others wait for their turn. They stay aside as long as this node believes
  /// that no peer has them.
  ///
  /// - Returns: True if the wanted assets have to be looked up again.
  mutating func makeWay(_ peers: [Peer], now: Int64) -> Bool {
    let before = aside.count
    aside = aside.filter { $0.value > now }
    var isChanged = aside.count < before
    guard hasMore, !peers.isEmpty else { return isChanged }
    var room = min(Self.madeWay, Self.aside - aside.count)
    for asset in order where room > 0 {
      guard let until = heldBackUntil(asset, peers, now) else { continue }
      aside[asset] = until
      room -= 1
      isChanged = true
    }
    return isChanged
  }

  /// Forgets which assets made way, because a new peer may have them.
  mutating func forgetAside() { aside = [:] }

  /// Returns the time until which no peer can give a missing chunk, or nil if some peer may have one.
  private func heldBackUntil(_ asset: AssetID, _ peers: [Peer], _ now: Int64) -> Int64? {
    guard let fetch = fetches[asset], fetch.asked.isEmpty, fetch.pausedUntil <= now else { return nil }
    var until = Int64.max
    for peer in peers where !peer.zones.isDisjoint(with: fetch.zones) {
      // The chunks that a silent peer claims to have don't count.
      if let failure = failures[peer.device], failure.pausedUntil > now {
        until = min(until, failure.pausedUntil)
        continue
      }
      guard let known = fetch.known[peer.link], known.until > now,
        known.chunks.present == 0 || firstFree(fetch, from: 0, peer.link, now) == nil
      else { return nil }
      until = min(until, known.until)
    }
    return until
  }

  /// Pauses an asset for which there is no room now.
  mutating func pause(_ asset: AssetID, now: Int64) { fetches[asset]?.pausedUntil = now + Self.pause }

  func isPaused(_ asset: AssetID, now: Int64) -> Bool { fetches[asset].map { $0.pausedUntil > now } ?? false }

  mutating func lost(_ link: LinkID) {
    release(link) { _ in true }
    queues[link] = nil
    for asset in order {
      fetches[asset]?.known[link] = nil
      fetches[asset]?.givers.remove(link)
    }
  }

  // MARK: Figures

  /// Returns the incomplete assets of which the peer has given or has a part.
  func given(by link: LinkID) -> [AssetID] {
    order.filter { asset in
      guard let fetch = fetches[asset] else { return false }
      // A peer that gave chunks may since have said that it no longer has any.
      return fetch.known[link].map { $0.chunks.present > 0 } ?? fetch.givers.contains(link)
    }
  }

  /// Returns the peers that are being asked, or that have missing chunks of the asset.
  func sources(of asset: AssetID, _ peers: [Peer], now: Int64) -> [LinkID] {
    guard let fetch = fetches[asset] else { return [] }
    let asked = Set(fetch.asked.values)
    return peers.map(\.link).filter { link in
      guard let known = fetch.known[link], known.until > now else {
        return asked.contains(link) || fetch.givers.contains(link)
      }
      return known.chunks.present > 0 && (asked.contains(link) || firstFree(fetch, from: 0, link, now) != nil)
    }
  }

  /// Returns the peers that are being asked, or that have missing chunks of any fetched asset.
  func sources(_ peers: [Peer], now: Int64) -> [LinkID] {
    var left = peers
    for asset in order where !left.isEmpty {
      let found = Set(sources(of: asset, left, now: now))
      left.removeAll { found.contains($0.link) }
    }
    let idle = Set(left.map(\.link))
    return peers.map(\.link).filter { !idle.contains($0) }
  }

  /// Returns whether the device is asked for nothing now, because it left requests unanswered.
  func isSilent(_ device: DeviceID, now: Int64) -> Bool { failures[device].map { $0.pausedUntil > now } ?? false }

  /// Returns the silent peers that may have the asset.
  func silent(of asset: AssetID, _ peers: [Peer], now: Int64) -> [LinkID] {
    let zones = fetches[asset]?.zones
    return peers.filter { peer in
      isSilent(peer.device, now: now) && zones.map { !peer.zones.isDisjoint(with: $0) } ?? true
    }.map(\.link)
  }

  func speed(of asset: AssetID, now: Int64) -> Int { fetches[asset]?.rate.perSecond(now: now) ?? 0 }

  /// Gives up the requests that a peer has not answered for too long, so that other peers can be asked. The peer gets no
  /// more requests until it gives a chunk, as it may do on a slow connection, or until its pause is over. Then it is asked
  /// for a single chunk, because an answer may have been lost, and the peer may be the only one that has the asset.
  ///
  /// Pauses end as time passes, so all assets are looked at again as well.
  mutating func expire(now: Int64) {
    lookAgain()
    for (link, queue) in queues.sorted(by: { $0.key < $1.key }) {
      let waited = queue.asked.values.min().map { now - max($0, queue.lastGiven) } ?? 0
      let isSilent = waited > Self.patience
      queues[link]?.isStalled = waited > Self.stall && !isSilent
      guard isSilent else { continue }
      queues[link]?.window = ChunkWindow()
      if let device = queue.device { fail(device, now: now) }
      for place in queue.asked.keys.sorted() {
        queues[link]?.giveUp(place)
        if fetches[place.asset]?.asked[place.index] == link { fetches[place.asset]?.asked[place.index] = nil }
      }
    }
  }

  private mutating func fail(_ device: DeviceID, now: Int64) {
    let count = (failures[device]?.count ?? 0) + 1
    // Devices of other accounts count too. The device whose pause ended first is forgotten.
    if failures[device] == nil, failures.count >= Limits.devicesEver,
      let oldest = failures.min(by: { ($0.value.pausedUntil, $0.key) < ($1.value.pausedUntil, $1.key) })
    {
      failures[oldest.key] = nil
    }
    failures[device] = Failure(count: count, pausedUntil: now + Self.pause << Int64(min(count - 1, Self.doublings)))
  }

  /// Forgets requests that the peer has refused, so that others can be asked.
  private mutating func release(_ link: LinkID, where isMeant: (Place) -> Bool) {
    for place in queues[link]?.refused(isMeant) ?? [] where fetches[place.asset]?.asked[place.index] == link {
      fetches[place.asset]?.asked[place.index] = nil
      for other in queues.keys { lookAgain(at: place.asset, other) }
    }
  }
}
