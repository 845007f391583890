import MeshCore
import Testing

@testable import MeshNode

@Suite struct HomeVaultTests {
  @Test("a mark keeps the time of the last signing, and one of an earlier version has none")
  func marks() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let vault = HomeVault(home: home)
      let zone = try #require(ZoneID([UInt8](repeating: 7, count: 32)))
      let id = try #require(ChangeSetID([UInt8](repeating: 8, count: 32)))
      func mark(_ signed: Int64?) -> HighWaterMark {
        HighWaterMark(instance: InstanceID(9), number: 300, id: id, signed: signed)
      }
      var earlier = ByteWriter()
      earlier.byte(1)
      zone.write(to: &earlier)
      earlier.uint64(9)
      earlier.varint(300)
      id.write(to: &earlier)
      try home.write(.highWater, earlier.bytes)
      #expect(try vault.highWaterMark(zone) == mark(nil))
      for signed: Int64? in [nil, 0, 1_800_000_000_000] {
        try vault.saveHighWaterMark(mark(signed), zone: zone)
        #expect(try vault.highWaterMark(zone) == mark(signed))
      }
    }
  }
}
