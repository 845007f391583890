import MeshCore

/// Which chunks of which assets are asked of whom: a value, like a conversation. Peers are asked side by side, each for as much as
/// its `ChunkWindow` says, so that change sets are never behind more than that.
struct AssetFetching: Sendable {
  /// How long a peer may give none of the chunks that it was asked for, before others are asked for them, in milliseconds. That it
  /// says that it has them doesn't count.
  static let patience: Int64 = 15_000
  /// How often the pause of a peer that gives nothing doubles.
  private static let doublings = 5
  /// How long a peer that has not what it was asked for is not asked for it again, in milliseconds; it may say earlier that it has
  /// more.
  static let pause: Int64 = 30_000
  /// Assets that are fetched at once.
  static let assets = 1_024
  /// Assets that nobody has, of those that are fetched, that make way for others at one time: so many are asked for in vain in each
  /// tick, and not more.
  static let madeWay = 64
  /// Assets that have made way and are remembered: some megabytes.
  static let aside = 65_536

  struct Request: Equatable {
    let link: LinkID
    let zone: ZoneID
    let asset: AssetID
    let chunks: Range<Int>
  }

  /// Who can be asked in which zones.
  struct Peer {
    let link: LinkID
    let device: DeviceID
    let zones: Set<ZoneID>
  }

  /// What a device did not give in time, since it last gave something.
  private struct Failure {
    var count = 0
    /// It is asked for nothing until then, in whichever session.
    var pausedUntil: Int64
  }

  private struct Fetch {
    let zones: [ZoneID]
    var staged: ChunkSet
    var asked: [Int: LinkID] = [:]
    /// What peers said that they have; believed until then.
    var known: [LinkID: (chunks: ChunkSet, until: Int64)] = [:]
    /// Who has given something of it.
    var givers: Set<LinkID> = []
    var rate = TransferRate()
    /// Not asked for until then, since it could not be kept.
    var pausedUntil: Int64 = .min
  }

  private struct Line {
    var window = ChunkWindow()
    /// When each chunk was asked for.
    var asked: [Place: Int64] = [:]
    /// When it last gave a chunk that it was asked for.
    var lastGiven: Int64 = .min
    /// It was asked, and has not given anything for too long.
    var isSilent = false
    var device: DeviceID?
  }

  private struct Place: Hashable {
    let asset: AssetID
    let index: Int
  }

  private var order: [AssetID] = []
  private var fetches: [AssetID: Fetch] = [:]
  private var lines: [LinkID: Line] = [:]
  private var failures: [DeviceID: Failure] = [:]
  /// Assets that made way because nobody has them, and until when.
  private var aside: [AssetID: Int64] = [:]
  /// Others wait for their turn.
  private var hasMore = false

  /// Nothing is left that could be asked for.
  var isEmpty: Bool { order.isEmpty }
  /// Chunks that were asked for and are not here.
  var askedCount: Int { lines.values.reduce(0) { $0 + $1.asked.count } }

  /// What is wanted from now on, the first first. What was asked already stays asked.
  mutating func want(_ wanted: WantedAssets) {
    var kept: [AssetID: Fetch] = [:]
    order = []
    hasMore = !wanted.isAll
    for entry in wanted.assets where !entry.staged.isComplete {
      var fetch = Fetch(zones: entry.zones, staged: entry.staged)
      if let known = fetches[entry.asset.id] {
        (fetch.asked, fetch.known, fetch.pausedUntil) = (known.asked, known.known, known.pausedUntil)
        (fetch.givers, fetch.rate) = (known.givers, known.rate)
      }
      order.append(entry.asset.id)
      kept[entry.asset.id] = fetch
    }
    fetches = kept
  }

  // MARK: Asking

  /// Devices that did not give what they were asked for come last, once their pause is over.
  mutating func requests(of peers: [Peer], now: Int64) -> [Request] {
    let able = peers.filter { failures[$0.device].map { $0.pausedUntil <= now } ?? true }
    let reliable = able.filter { failures[$0.device] == nil }
    let others = able.filter { failures[$0.device] != nil }
    return (reliable + others).flatMap { requests(of: $0, now: now) }
  }

  private mutating func requests(of peer: Peer, now: Int64) -> [Request] {
    var requests: [Request] = []
    lines[peer.link, default: Line()].device = peer.device
    var free = lines[peer.link, default: Line()].window.size - lines[peer.link, default: Line()].asked.count
    for asset in order where free > 0 {
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

  /// A chunk that is not here, that nobody was asked for, and that the peer may have.
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
    lines[link, default: Line()].asked[Place(asset: asset, index: index)] = now
  }

  // MARK: Answers

  /// True where the chunk was asked of the peer.
  mutating func arrived(_ index: Int, of asset: AssetID, from link: LinkID, now: Int64) -> Bool {
    guard let since = lines[link]?.asked.removeValue(forKey: Place(asset: asset, index: index)) else { return false }
    lines[link]?.lastGiven = now
    lines[link]?.isSilent = false
    if let device = lines[link]?.device { failures[device] = nil }
    if fetches[asset]?.asked[index] == link { fetches[asset]?.asked[index] = nil }
    lines[link]?.window.answered(asked: since, now: now)
    return true
  }

  /// Bytes of a chunk that is kept, before it is `staged`.
  mutating func gave(_ bytes: Int, of asset: AssetID, _ link: LinkID, now: Int64) {
    fetches[asset]?.givers.insert(link)
    fetches[asset]?.rate.add(bytes, now: now)
  }

  mutating func staged(_ index: Int, of asset: AssetID) {
    fetches[asset]?.staged.insert(index)
    guard fetches[asset]?.staged.isComplete == true else { return }
    fetches[asset] = nil
    order.removeAll { $0 == asset }
  }

  /// The peer says which chunks it has: what it was asked for and has not is asked of others. What it says that it has, it still
  /// has to give in time.
  mutating func has(_ chunks: ChunkSet?, of asset: AssetID, _ link: LinkID, now: Int64) {
    guard let count = fetches[asset]?.staged.count else {
      if let chunks, chunks.present > 0 { aside[asset] = aside[asset].map { min($0, now) } }
      return release(link) { $0.asset == asset }
    }
    let chunks = chunks.flatMap { $0.count == count ? $0 : nil } ?? ChunkSet(count: count)
    fetches[asset]?.known[link] = (chunks, now + Self.pause)
    release(link) { $0.asset == asset && !chunks.contains($0.index) }
  }

  // MARK: What nobody has

  /// Assets that made way.
  var setAside: Set<AssetID> { Set(aside.keys) }

  /// Assets of which no peer has anything that is not here, as far as they have said so.
  func absent(_ peers: [Peer], now: Int64) -> Set<AssetID> {
    setAside.union(order.filter { heldBackUntil($0, peers, now) != nil })
  }

  /// Where others wait for their turn, some that nobody has make way for them, for as long as it is believed that nobody has them.
  /// True where what is wanted is to be looked up again.
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

  /// Somebody has come who may have them.
  mutating func forgetAside() { aside = [:] }

  /// Nil where some peer may have something of it that is not here.
  private func heldBackUntil(_ asset: AssetID, _ peers: [Peer], _ now: Int64) -> Int64? {
    guard let fetch = fetches[asset], fetch.asked.isEmpty, fetch.pausedUntil <= now else { return nil }
    var until = Int64.max
    for peer in peers where !peer.zones.isDisjoint(with: fetch.zones) {
      // Whatever it says that it has.
      if lines[peer.link]?.isSilent == true {
        until = min(until, now + Self.pause)
        continue
      }
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

  /// There is no room for it now.
  mutating func pause(_ asset: AssetID, now: Int64) { fetches[asset]?.pausedUntil = now + Self.pause }

  func isPaused(_ asset: AssetID, now: Int64) -> Bool { fetches[asset].map { $0.pausedUntil > now } ?? false }

  mutating func lost(_ link: LinkID) {
    release(link) { _ in true }
    lines[link] = nil
    for asset in order {
      fetches[asset]?.known[link] = nil
      fetches[asset]?.givers.remove(link)
    }
  }

  // MARK: Figures

  /// Assets that are not complete, of which the peer has given or has something.
  func given(by link: LinkID) -> [AssetID] {
    order.filter { asset in
      guard let fetch = fetches[asset] else { return false }
      // Who has given something may have said since that it has nothing any more.
      return fetch.known[link].map { $0.chunks.present > 0 } ?? fetch.givers.contains(link)
    }
  }

  /// Peers that are being asked, or have something that is not here.
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

  /// The same of all that is fetched.
  func sources(_ peers: [Peer], now: Int64) -> [LinkID] {
    var left = peers
    for asset in order where !left.isEmpty {
      let found = Set(sources(of: asset, left, now: now))
      left.removeAll { found.contains($0.link) }
    }
    let idle = Set(left.map(\.link))
    return peers.map(\.link).filter { !idle.contains($0) }
  }

  func speed(of asset: AssetID, now: Int64) -> Int { fetches[asset]?.rate.perSecond(now: now) ?? 0 }

  /// What a peer has not answered for too long may be asked of others. It is asked nothing more till it has answered, which on a slow
  /// line it may yet do, or is gone.
  mutating func expire(now: Int64) {
    for (link, line) in lines.sorted(by: { $0.key < $1.key }) {
      guard !line.isSilent, let first = line.asked.values.min(), now - max(first, line.lastGiven) > Self.patience
      else { continue }
      lines[link]?.window = ChunkWindow()
      lines[link]?.isSilent = true
      if let device = line.device { fail(device, now: now) }
      for place in line.asked.keys where fetches[place.asset]?.asked[place.index] == link {
        fetches[place.asset]?.asked[place.index] = nil
      }
    }
  }

  private mutating func fail(_ device: DeviceID, now: Int64) {
    let count = (failures[device]?.count ?? 0) + 1
    // Devices come from other accounts as well: those whose pause was over first are forgotten.
    if failures[device] == nil, failures.count >= Limits.devicesEver,
      let oldest = failures.min(by: { ($0.value.pausedUntil, $0.key) < ($1.value.pausedUntil, $1.key) })
    {
      failures[oldest.key] = nil
    }
    failures[device] = Failure(count: count, pausedUntil: now + Self.pause << Int64(min(count - 1, Self.doublings)))
  }

  private mutating func release(_ link: LinkID, where isMeant: (Place) -> Bool) {
    for place in lines[link]?.asked.keys.filter(isMeant) ?? [] {
      lines[link]?.asked[place] = nil
      if fetches[place.asset]?.asked[place.index] == link { fetches[place.asset]?.asked[place.index] = nil }
    }
    if lines[link]?.asked.isEmpty == true { lines[link]?.isSilent = false }
  }
}
