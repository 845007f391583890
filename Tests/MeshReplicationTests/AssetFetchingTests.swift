import MeshCore
import Testing

@testable import MeshReplication

/// Whom chunks are asked of.
@Suite struct AssetFetchingTests {
  private static let zone = ZoneID([UInt8](repeating: 7, count: 32)) ?? .zero
  private static let other = ZoneID([UInt8](repeating: 8, count: 32)) ?? .zero
  private static let asset = Asset(id: AssetID([UInt8](repeating: 1, count: 32)) ?? .zero, size: 40 * Limits.chunk)

  private var fetching = AssetFetching()
  private let links = (1...3).map { LinkID(UInt64($0)) }

  private func wanted(_ staged: [Int] = []) -> WantedAsset {
    WantedAsset(
      asset: Self.asset, zones: [Self.zone], staged: staged.reduce(into: ChunkSet(count: 40)) { $0.insert($1) })
  }

  private func peers(_ count: Int, in zone: ZoneID = zone) -> [AssetFetching.Peer] {
    links.prefix(count).map { AssetFetching.Peer(link: $0, zones: [zone]) }
  }

  private func chunks(_ requests: [AssetFetching.Request]) -> [Int] { requests.flatMap { Array($0.chunks) } }

  @Test mutating func noChunkIsAskedTwiceAndPeersAreAskedSideBySide() {
    fetching.want([wanted([0, 2])])
    let requests = fetching.requests(of: peers(2), now: 0)
    #expect(Set(requests.map(\.link)).count == 2)
    #expect(chunks(requests) == [1, 3, 4, 5])
    #expect(fetching.requests(of: peers(2), now: 0).isEmpty)
    #expect(fetching.requests(of: peers(3), now: 0).map(\.link) == [links[2]])
  }

  @Test mutating func onlyPeersOfAZoneThatUsesItAreAsked() {
    fetching.want([wanted()])
    #expect(fetching.requests(of: peers(2, in: Self.other), now: 0).isEmpty)
    #expect(fetching.requests(of: peers(1), now: 0).allSatisfy { $0.zone == Self.zone })
  }

  @Test mutating func theWindowGrowsWithFastAnswersAndNarrowsWithSlowOnes() {
    fetching.want([wanted()])
    for index in 0..<20 {
      _ = fetching.requests(of: peers(1), now: Int64(index))
      #expect(fetching.arrived(index, of: Self.asset.id, from: links[0], now: Int64(index)))
      fetching.staged(index, of: Self.asset.id)
    }
    _ = fetching.requests(of: peers(1), now: 20)
    #expect(fetching.askedCount == AssetFetching.widestWindow)
    for index in 20..<28 {
      #expect(fetching.arrived(index, of: Self.asset.id, from: links[0], now: 5_000))
      fetching.staged(index, of: Self.asset.id)
    }
    _ = fetching.requests(of: peers(1), now: 5_000)
    #expect(fetching.askedCount == 1)
  }

  @Test mutating func whatAPeerLacksIsAskedOfAnotherAndOfItAgainOnceItHasMore() {
    fetching.want([wanted()])
    _ = fetching.requests(of: peers(1), now: 0)
    var has = ChunkSet(count: 40)
    has.insert(1)
    fetching.has(has, of: Self.asset.id, links[0], now: 1)
    #expect(chunks(fetching.requests(of: [peers(2)[1]], now: 1)) == [0, 2])
    #expect(fetching.requests(of: peers(1), now: 1).isEmpty)
    has.insert(5)
    fetching.has(has, of: Self.asset.id, links[0], now: 2)
    #expect(chunks(fetching.requests(of: peers(1), now: 2)) == [5])
    fetching.has(nil, of: Self.asset.id, links[0], now: 3)
    #expect(fetching.requests(of: peers(1), now: 3).isEmpty)
    #expect(!fetching.requests(of: peers(1), now: 4 + AssetFetching.pause).isEmpty)
  }

  @Test mutating func whoIsSilentOrGoneIsReplaced() {
    fetching.want([wanted()])
    _ = fetching.requests(of: peers(1), now: 0)
    fetching.expire(now: AssetFetching.patience)
    #expect(fetching.askedCount == 2)
    fetching.expire(now: AssetFetching.patience + 1)
    #expect(fetching.askedCount == 0)
    #expect(fetching.requests(of: peers(1), now: AssetFetching.patience + 1).isEmpty)
    #expect(chunks(fetching.requests(of: [peers(2)[1]], now: AssetFetching.patience + 1)) == [0, 1])
    fetching.lost(links[1])
    #expect(chunks(fetching.requests(of: [peers(3)[2]], now: AssetFetching.patience + 1)) == [0, 1])
  }

  @Test mutating func aChunkThatWasNotAskedForIsNotExpected() {
    fetching.want([wanted()])
    _ = fetching.requests(of: peers(1), now: 0)
    #expect(!fetching.arrived(0, of: Self.asset.id, from: links[1], now: 1))
    #expect(!fetching.arrived(9, of: Self.asset.id, from: links[0], now: 1))
    #expect(fetching.arrived(0, of: Self.asset.id, from: links[0], now: 1))
    #expect(!fetching.arrived(0, of: Self.asset.id, from: links[0], now: 1))
  }

  @Test mutating func whatIsNotWantedAnyMoreIsNotAskedFor() {
    fetching.want([wanted()])
    _ = fetching.requests(of: peers(1), now: 0)
    fetching.want([])
    #expect(fetching.isEmpty && fetching.requests(of: peers(2), now: 1).isEmpty)
    #expect(fetching.arrived(0, of: Self.asset.id, from: links[0], now: 1), "it was on its way")
    fetching.want([wanted(Array(0..<39))])
    #expect(chunks(fetching.requests(of: peers(1), now: 2)) == [39])
    fetching.staged(39, of: Self.asset.id)
    #expect(fetching.isEmpty)
  }
}
