import MeshCore
import Testing

@testable import MeshReplication

/// Which peers are asked for chunks.
@Suite struct AssetFetchingTests {
  private static let zone = ZoneID([UInt8](repeating: 7, count: 32)) ?? .zero
  private static let other = ZoneID([UInt8](repeating: 8, count: 32)) ?? .zero
  private static let asset = Asset(id: AssetID([UInt8](repeating: 1, count: 32)) ?? .zero, size: 40 * Limits.chunk)

  /// Holds the value, because macros treat the values that they examine as constants.
  private final class Box {
    var fetching = AssetFetching()

    func requests(of peers: [AssetFetching.Peer], now: Int64) -> [AssetFetching.Request] {
      fetching.requests(of: peers, now: now)
    }

    @discardableResult
    func makesWay(_ peers: [AssetFetching.Peer], now: Int64) -> Bool { fetching.makeWay(peers, now: now) }

    @discardableResult
    func arrived(_ index: Int, of asset: AssetID, from link: LinkID, now: Int64) -> Bool {
      fetching.arrived(index, of: asset, from: link, now: now)
    }
  }
  private let box = Box()
  private let links = (1...3).map { LinkID(UInt64($0)) }

  private func wanted(_ staged: [Int] = []) -> WantedAsset {
    WantedAsset(
      asset: Self.asset, zones: [Self.zone], staged: staged.reduce(into: ChunkSet(count: 40)) { $0.insert($1) })
  }

  private func peers(_ count: Int, in zone: ZoneID = zone) -> [AssetFetching.Peer] {
    links.prefix(count).enumerated().map { index, link in
      AssetFetching.Peer(link: link, device: Self.device(index), zones: [zone])
    }
  }

  private static func device(_ index: Int) -> DeviceID {
    DeviceID([UInt8](repeating: UInt8(index + 1), count: 32)) ?? .zero
  }

  private func chunks(_ requests: [AssetFetching.Request]) -> [Int] { requests.flatMap { Array($0.chunks) } }

  @Test("chunks are requested from several peers in parallel, and each chunk once")
  func noChunkIsAskedTwiceAndPeersAreAskedSideBySide() {
    box.fetching.want(WantedAssets([wanted([0, 2])], isAll: true))
    let requests = box.requests(of: peers(2), now: 0)
    #expect(Set(requests.map(\.link)).count == 2)
    #expect(chunks(requests) == [1, 3])
    #expect(box.requests(of: peers(2), now: 0).isEmpty)
    #expect(box.requests(of: peers(3), now: 0).map(\.link) == [links[2]])
  }

  @Test("chunks are requested only from peers of a zone that uses the BLOB") func onlyPeersOfAZoneThatUsesItAreAsked() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    #expect(box.requests(of: peers(2, in: Self.other), now: 0).isEmpty)
    #expect(box.requests(of: peers(1), now: 0).map(\.zone) == [Self.zone])
  }

  @Test("the window grows with fast answers and narrows with slow ones")
  func theWindowGrowsWithFastAnswersAndNarrowsWithSlowOnes() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    for index in 0..<20 {
      _ = box.requests(of: peers(1), now: 0)
      #expect(box.arrived(index, of: Self.asset.id, from: links[0], now: 0))
      box.fetching.staged(index, of: Self.asset.id)
    }
    _ = box.requests(of: peers(1), now: 0)
    #expect(box.fetching.askedCount == ChunkWindow.widest)
    for index in 20..<28 {
      #expect(box.arrived(index, of: Self.asset.id, from: links[0], now: 5_000))
      box.fetching.staged(index, of: Self.asset.id)
    }
    _ = box.requests(of: peers(1), now: 5_000)
    #expect(box.fetching.askedCount == 1)
  }

  /// Returns the window sizes for a connection that needs `base` for a chunk without others before it, and `each` more
  /// for every one before it.
  private func answers(_ count: Int, base: Int64, each: Int64) -> [Int] {
    var (window, now, sizes) = (ChunkWindow(), Int64(0), [Int]())
    for _ in 0..<count {
      let asked = now
      now += base + each * Int64(window.size - 1)
      window.answered(asked: asked, now: now)
      sizes.append(window.size)
    }
    return sizes
  }

  @Test("the window reaches its maximum if chunks don't delay each other", arguments: [0, 100, 1_000])
  func theWindowIsWideOnALineThatHoldsMore(base: Int64) {
    #expect(answers(20, base: base, each: 0).last == ChunkWindow.widest)
  }

  @Test("the window stays narrow if chunks delay each other")
  func theWindowStaysNarrowWhereChunksWouldWaitForEachOther() {
    #expect(answers(100, base: 2, each: 2).dropFirst(5).allSatisfy { (2...4).contains($0) })
    #expect(answers(100, base: 300, each: 300).allSatisfy { $0 <= 2 }, "a slow line")
  }

  @Test("the window grows again once the old round-trip times are forgotten") func theFastestAnswerIsForgotten() {
    var window = ChunkWindow()
    for now in 0..<10 { window.answered(asked: Int64(now), now: Int64(now)) }
    #expect(window.size == ChunkWindow.widest)
    // The connection now has a longer round trip and the same capacity. It appears slow until the old times are
    // forgotten.
    for now in stride(from: Int64(100), to: 2_000, by: 100) { window.answered(asked: now - 100, now: now) }
    #expect(window.size == 1)
    let later = ChunkWindow.memory + 3_000
    for now in stride(from: later, to: later + 2_000, by: 100) { window.answered(asked: now - 100, now: now) }
    #expect(window.size == ChunkWindow.widest)
  }

  @Test("a missing chunk is requested from another peer, or again once the peer has it")
  func whatAPeerLacksIsAskedOfAnotherAndOfItAgainOnceItHasMore() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(1), now: 0)
    var has = ChunkSet(count: 40)
    has.insert(1)
    box.fetching.note(has, of: Self.asset.id, links[0], now: 1)
    #expect(chunks(box.requests(of: [peers(2)[1]], now: 1)) == [0])
    #expect(chunks(box.requests(of: peers(1), now: 1)) == [1])
    has.insert(5)
    #expect(box.arrived(1, of: Self.asset.id, from: links[0], now: 2))
    box.fetching.staged(1, of: Self.asset.id)
    box.fetching.note(has, of: Self.asset.id, links[0], now: 2)
    #expect(chunks(box.requests(of: peers(1), now: 2)) == [5])
    box.fetching.note(nil, of: Self.asset.id, links[0], now: 3)
    #expect(box.requests(of: peers(1), now: 3).isEmpty)
    box.fetching.expire(now: 4 + AssetFetching.pause)
    #expect(!box.requests(of: peers(1), now: 4 + AssetFetching.pause).isEmpty)
  }

  @Test("a peer is asked for an asset that another turned out to lack, even after later assets")
  func anEarlierAssetIsLookedAtAgain() {
    let assets = Self.short(40).map(\.asset.id)
    let second = [peers(2)[1]]
    func give(_ asset: AssetID) {
      #expect(box.arrived(0, of: asset, from: links[1], now: 10))
      box.fetching.staged(0, of: asset)
    }
    box.fetching.want(WantedAssets(Self.short(40), isAll: true))
    #expect(box.requests(of: peers(2), now: 0).map(\.asset) == [assets[0], assets[1]])
    box.fetching.note(nil, of: assets[0], links[0], now: 10)
    give(assets[1])
    #expect(box.requests(of: second, now: 10).map(\.asset) == [assets[0]])
    // Once the peer has what it lacked, it is asked for it.
    box.fetching.note(nil, of: assets[0], links[1], now: 20)
    #expect(box.requests(of: second, now: 20).map(\.asset) == [assets[2]])
    var whole = ChunkSet(count: 1)
    whole.insert(0)
    box.fetching.note(whole, of: assets[0], links[1], now: 30)
    give(assets[2])
    #expect(box.requests(of: second, now: 30).map(\.asset).first == assets[0])
  }

  @Test("a chunk of a silent or lost peer is requested from another one") func whoIsSilentOrGoneIsReplaced() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(1), now: 0)
    box.fetching.expire(now: AssetFetching.patience)
    #expect(box.fetching.askedCount == 1)
    box.fetching.expire(now: AssetFetching.patience + 1)
    #expect(box.fetching.askedCount == 0)
    #expect(box.fetching.absent(peers(1), now: AssetFetching.patience + 1) == [Self.asset.id], "it is not relied upon")
    #expect(box.fetching.absent(peers(2), now: AssetFetching.patience + 1).isEmpty)
    #expect(box.requests(of: peers(1), now: AssetFetching.patience + 1).isEmpty)
    #expect(chunks(box.requests(of: [peers(2)[1]], now: AssetFetching.patience + 1)) == [0])
    box.fetching.lost(links[1])
    #expect(chunks(box.requests(of: [peers(3)[2]], now: AssetFetching.patience + 1)) == [0])
    #expect(box.arrived(0, of: Self.asset.id, from: links[0], now: AssetFetching.patience + 2), "it was on its way")
  }

  @Test("a peer that left a request unanswered is asked again after its pause, or once it gives a chunk")
  func aSilentPeerIsAskedAgain() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    #expect(chunks(box.requests(of: peers(1), now: 0)) == [0])
    box.fetching.note(.all(40), of: Self.asset.id, links[0], now: 1)
    var now = AssetFetching.patience + 1
    box.fetching.expire(now: now)
    #expect(box.requests(of: peers(1), now: now).isEmpty)
    #expect(box.fetching.isSilent(Self.device(0), now: now))
    #expect(box.fetching.silent(of: Self.asset.id, peers(2), now: now) == [links[0]])
    #expect(box.fetching.silent(of: Self.asset.id, peers(2, in: Self.other), now: now).isEmpty)
    now += AssetFetching.pause
    box.fetching.expire(now: now)
    #expect(!box.fetching.isSilent(Self.device(0), now: now))
    #expect(chunks(box.requests(of: peers(1), now: now)) == [0], "the answer may have been lost")
    now += AssetFetching.patience + 1
    box.fetching.expire(now: now)
    #expect(box.requests(of: peers(1), now: now + AssetFetching.pause).isEmpty, "the second pause is longer")
    // Both answers come in the end.
    #expect(box.arrived(0, of: Self.asset.id, from: links[0], now: now))
    box.fetching.staged(0, of: Self.asset.id)
    #expect(chunks(box.requests(of: peers(1), now: now)) == [1])
    #expect(box.arrived(0, of: Self.asset.id, from: links[0], now: now))
    #expect(!box.arrived(0, of: Self.asset.id, from: links[0], now: now))
  }

  @Test("a peer that gave chunks fast before it was silent is asked for a single one after its pause")
  func aSilentPeersWindowIsNarrow() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    for index in 0..<10 {
      _ = box.requests(of: peers(1), now: 0)
      #expect(box.arrived(index, of: Self.asset.id, from: links[0], now: 0))
      box.fetching.staged(index, of: Self.asset.id)
    }
    _ = box.requests(of: peers(1), now: 0)
    #expect(box.fetching.askedCount > 1)
    var now = AssetFetching.patience + 1
    box.fetching.expire(now: now)
    now += AssetFetching.pause
    box.fetching.expire(now: now)
    #expect(chunks(box.requests(of: peers(1), now: now)) == [10])
  }

  @Test("requests for versions of a BLOB that were replaced leave the next one room", arguments: [true, false])
  func aReplacedAssetKeepsNoOtherBack(isPromised: Bool) throws {
    let versions = Self.short(300)
    for (now, version) in versions.enumerated() {
      box.fetching.want(WantedAssets([version], isAll: true))
      try #require(box.requests(of: peers(1), now: Int64(now)).map(\.asset) == [version.asset.id])
      try #require(box.fetching.askedCount == 1)
      // The peer says that it has it, and can't give it any more.
      if isPromised { box.fetching.note(.all(1), of: version.asset.id, links[0], now: Int64(now)) }
    }
    #expect(box.arrived(0, of: versions[298].asset.id, from: links[0], now: 300), "it was on its way")
    #expect(!box.arrived(0, of: versions[0].asset.id, from: links[0], now: 300), "so many are not remembered")
    box.fetching.note(nil, of: versions[297].asset.id, links[0], now: 300)
    #expect(!box.arrived(0, of: versions[297].asset.id, from: links[0], now: 300), "the peer refused it")
    box.fetching.expire(now: 299 + AssetFetching.patience)
    #expect(!box.fetching.isSilent(Self.device(0), now: 299 + AssetFetching.patience), "the replaced ones don't count")
  }

  @Test("a device that lets others give its chunks is asked for nothing after a while")
  func whoLeavesItsChunksToOthersIsSilent() {
    box.fetching.want(WantedAssets(Self.short(1), isAll: true))
    let asset = Self.short(1)[0].asset.id
    #expect(box.requests(of: peers(2), now: 0).map(\.link) == [links[0]])
    box.fetching.expire(now: AssetFetching.stall + 1)
    #expect(box.requests(of: peers(2), now: AssetFetching.stall + 1).map(\.link) == [links[1]])
    #expect(box.arrived(0, of: asset, from: links[1], now: AssetFetching.stall + 2))
    box.fetching.staged(0, of: asset)
    box.fetching.want(WantedAssets([], isAll: true))
    box.fetching.expire(now: AssetFetching.patience + 1)
    #expect(box.fetching.isSilent(Self.device(0), now: AssetFetching.patience + 1))
    #expect(!box.fetching.isSilent(Self.device(1), now: AssetFetching.patience + 1))
  }

  @Test("the chunks of a peer that stalls are asked of a peer that has nothing else to give, once and after all others")
  func aStalledChunkIsAskedOfAnIdlePeer() {
    let second = [peers(2)[1]]
    box.fetching.want(WantedAssets([wanted(Array(0..<38))], isAll: true))
    #expect(chunks(box.requests(of: peers(1), now: 0)) == [38])
    box.fetching.expire(now: AssetFetching.stall)
    #expect(chunks(box.requests(of: second, now: AssetFetching.stall)) == [39])
    box.fetching.expire(now: AssetFetching.stall + 1)
    #expect(box.requests(of: second, now: AssetFetching.stall + 1).isEmpty, "its window is full")
    #expect(box.arrived(39, of: Self.asset.id, from: links[1], now: AssetFetching.stall + 2))
    box.fetching.staged(39, of: Self.asset.id)
    #expect(chunks(box.requests(of: second, now: AssetFetching.stall + 2)) == [38])
    #expect(box.requests(of: peers(3), now: AssetFetching.stall + 2).isEmpty, "the second peer has just been asked")
    // The answer of the first peer counts as well, and then the second one is no surprise.
    #expect(box.arrived(38, of: Self.asset.id, from: links[0], now: AssetFetching.stall + 3))
    box.fetching.staged(38, of: Self.asset.id)
    #expect(box.fetching.isEmpty)
    #expect(box.arrived(38, of: Self.asset.id, from: links[1], now: AssetFetching.stall + 4))
  }

  @Test("a peer that said it lacks a chunk isn't asked for it because another peer stalls")
  func aPeerThatLacksAChunkIsNotAskedBecauseAnotherStalls() {
    box.fetching.want(WantedAssets([wanted(Array(0..<39))], isAll: true))
    #expect(chunks(box.requests(of: peers(1), now: 0)) == [39])
    box.fetching.note(nil, of: Self.asset.id, links[1], now: 1)
    box.fetching.expire(now: AssetFetching.stall + 1)
    #expect(chunks(box.requests(of: peers(3), now: AssetFetching.stall + 1)) == [39])
    #expect(box.fetching.askedCount == 2)
  }

  @Test("a device that promises chunks and gives none blocks no others")
  func aPromiseKeepsNoChunkBack() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    // The device is asked first, and says every few seconds that it has everything.
    #expect(chunks(box.requests(of: peers(1), now: 0)) == [0])
    for now in stride(from: Int64(5_000), through: 15_000, by: 5_000) {
      box.fetching.note(.all(40), of: Self.asset.id, links[0], now: now)
      box.fetching.expire(now: now)
    }
    var now = AssetFetching.patience + 1
    box.fetching.expire(now: now)
    let asked = box.requests(of: peers(2), now: now)
    #expect(asked.map(\.link) == [links[1]] && chunks(asked) == [0])
    // The device says that it has nothing, and then everything. It isn't asked before its pause is over, not even in
    // another session.
    box.fetching.note(nil, of: Self.asset.id, links[0], now: now)
    box.fetching.note(.all(40), of: Self.asset.id, links[0], now: now)
    #expect(box.requests(of: peers(1), now: now).isEmpty)
    box.fetching.lost(links[0])
    let again = AssetFetching.Peer(link: links[2], device: Self.device(0), zones: [Self.zone])
    #expect(box.requests(of: [again], now: now).isEmpty)
    now += AssetFetching.pause
    #expect(chunks(box.requests(of: [again], now: now)) == [1])
    // The next pause is longer.
    now += AssetFetching.patience + 1
    box.fetching.expire(now: now)
    box.fetching.note(nil, of: Self.asset.id, links[2], now: now)
    box.fetching.note(.all(40), of: Self.asset.id, links[2], now: now)
    #expect(box.requests(of: [again], now: now + AssetFetching.pause).isEmpty)
    #expect(!box.requests(of: [again], now: now + 2 * AssetFetching.pause).isEmpty)
  }

  @Test("a device that did not give a chunk in time is asked after the others")
  func aDeviceThatFailedComesLast() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(1), now: 0)
    box.fetching.expire(now: AssetFetching.patience + 1)
    box.fetching.note(nil, of: Self.asset.id, links[0], now: AssetFetching.patience + 1)
    box.fetching.note(.all(40), of: Self.asset.id, links[0], now: AssetFetching.patience + 1)
    let later = AssetFetching.patience + 1 + AssetFetching.pause
    #expect(box.requests(of: peers(2), now: later).map(\.link) == [links[1], links[0]])
    box.arrived(1, of: Self.asset.id, from: links[0], now: later)
    box.fetching.staged(1, of: Self.asset.id)
    box.arrived(0, of: Self.asset.id, from: links[1], now: later)
    box.fetching.staged(0, of: Self.asset.id)
    #expect(box.requests(of: peers(2), now: later).map(\.link) == [links[0], links[1]], "it gave a chunk")
  }

  @Test("a chunk counts as expected only once and from the peer that was asked")
  func aChunkThatWasNotAskedForIsNotExpected() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(1), now: 0)
    #expect(!box.arrived(0, of: Self.asset.id, from: links[1], now: 1))
    #expect(!box.arrived(9, of: Self.asset.id, from: links[0], now: 1))
    #expect(box.arrived(0, of: Self.asset.id, from: links[0], now: 1))
    #expect(!box.arrived(0, of: Self.asset.id, from: links[0], now: 1))
  }

  @Test("chunks of a BLOB that is no longer wanted are not requested") func whatIsNotWantedAnyMoreIsNotAskedFor() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(1), now: 0)
    box.fetching.want(WantedAssets([], isAll: true))
    #expect(box.fetching.isEmpty && box.requests(of: peers(2), now: 1).isEmpty)
    #expect(box.arrived(0, of: Self.asset.id, from: links[0], now: 1), "it was on its way")
    box.fetching.want(WantedAssets([wanted(Array(0..<39))], isAll: true))
    #expect(chunks(box.requests(of: peers(1), now: 2)) == [39])
    box.fetching.staged(39, of: Self.asset.id)
    #expect(box.fetching.isEmpty)
  }

  private static func short(_ count: Int) -> [WantedAsset] {
    (1...count).map { number in
      let id = AssetID([UInt8](repeating: 0, count: 30) + [UInt8(number >> 8), UInt8(number & 255)]) ?? .zero
      return WantedAsset(asset: Asset(id: id, size: 20_000), zones: [zone], staged: ChunkSet(count: 1))
    }
  }

  @Test("BLOBs that no peer has make way for waiting ones, and get another turn later")
  func whatNobodyHasMakesWayWhereOthersWait() {
    let wanted = Self.short(AssetFetching.assets)
    box.fetching.want(WantedAssets(wanted, isAll: false))
    for entry in wanted.prefix(100) { box.fetching.note(nil, of: entry.asset.id, links[0], now: 0) }
    #expect(!box.makesWay(peers(2), now: 1), "the other peer was not asked")
    for entry in wanted.prefix(100) { box.fetching.note(nil, of: entry.asset.id, links[1], now: 1) }
    #expect(box.fetching.absent(peers(2), now: 2).count == 100)
    box.makesWay(peers(2), now: 2)
    #expect(box.fetching.setAside == Set(wanted.prefix(AssetFetching.madeWay).map(\.asset.id)))
    let rest = wanted.filter { !box.fetching.setAside.contains($0.asset.id) }
    box.fetching.want(WantedAssets(rest, isAll: true))
    box.makesWay(peers(2), now: 3)
    #expect(box.fetching.setAside.count == AssetFetching.madeWay, "all others have their turn")
    #expect(box.fetching.absent(peers(2), now: 3).count == 100)
    // One chunk has arrived.
    box.fetching.note(.all(1), of: wanted[3].asset.id, links[1], now: 4)
    #expect(box.makesWay(peers(2), now: 4))
    #expect(!box.fetching.setAside.contains(wanted[3].asset.id))
    #expect(box.makesWay(peers(2), now: AssetFetching.pause + 1))
    #expect(box.fetching.setAside.isEmpty, "what was said is not believed for ever")
  }

  @Test("a BLOB is absent only if no peer may have a missing chunk") func whoCanBeAskedMayHaveIt() {
    box.fetching.want(WantedAssets([wanted([1])], isAll: true))
    #expect(box.fetching.absent(peers(1, in: Self.other), now: 0) == [Self.asset.id], "in none of its zones")
    #expect(box.fetching.absent(peers(1), now: 0).isEmpty)
    var has = ChunkSet(count: 40)
    has.insert(1)
    box.fetching.note(has, of: Self.asset.id, links[0], now: 0)
    #expect(box.fetching.absent(peers(1), now: 1) == [Self.asset.id], "it is here")
    has.insert(2)
    box.fetching.note(has, of: Self.asset.id, links[0], now: 1)
    #expect(box.fetching.absent(peers(1), now: 2).isEmpty)
    box.fetching.pause(Self.asset.id, now: 2)
    let isPaused = [2, 1 + AssetFetching.pause, 2 + AssetFetching.pause].map {
      box.fetching.isPaused(Self.asset.id, now: $0)
    }
    #expect(isPaused == [true, true, false])
    box.fetching.note(nil, of: Self.asset.id, links[0], now: 3)
    #expect(box.fetching.absent(peers(1), now: 3).isEmpty, "it may well be there, and waits for room here")
  }

  @Test("the sources and the speed of a download are known while it runs")
  func whoGaveAndHowFastIsKnownTillItIsWhole() {
    box.fetching.want(WantedAssets([wanted()], isAll: true))
    _ = box.requests(of: peers(2), now: 0)
    #expect(box.fetching.sources(of: Self.asset.id, peers(3), now: 0) == Array(links.prefix(2)), "they are asked")
    box.arrived(0, of: Self.asset.id, from: links[0], now: 500)
    box.fetching.gave(Limits.chunk, of: Self.asset.id, links[0], now: 500)
    box.fetching.staged(0, of: Self.asset.id)
    #expect(box.fetching.speed(of: Self.asset.id, now: 2_000) == Limits.chunk / 2)
    #expect(box.fetching.speed(of: Self.asset.id, now: 20_000) == 0)
    #expect(box.fetching.given(by: links[0]) == [Self.asset.id])
    #expect(box.fetching.given(by: links[1]).isEmpty)
    #expect(box.fetching.sources(peers(3), now: 500) == Array(links.prefix(2)))
    box.fetching.note(nil, of: Self.asset.id, links[1], now: 600)
    #expect(box.fetching.sources(of: Self.asset.id, peers(3), now: 600) == [links[0]])
    #expect(box.fetching.sources(peers(3), now: 600) == [links[0]])
    box.fetching.note(nil, of: Self.asset.id, links[0], now: 700)
    #expect(box.fetching.given(by: links[0]).isEmpty, "it does not have it any more")
    box.fetching.lost(links[0])
    #expect(box.fetching.sources(of: Self.asset.id, peers(3), now: 600).isEmpty)
  }
}
