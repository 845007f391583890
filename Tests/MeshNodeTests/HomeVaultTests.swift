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

  private static func zone(_ byte: UInt8) throws -> ZoneID {
    try #require(ZoneID([UInt8](repeating: byte, count: 32)))
  }

  private static func mark(_ number: UInt64) throws -> HighWaterMark {
    let id = try #require(ChangeSetID([UInt8](repeating: 8, count: 32)))
    return HighWaterMark(instance: InstanceID(9), number: number, id: id, signed: 1_800_000_000_000)
  }

  @Test("a save overwrites only the older marks, so a crash during it leaves those before")
  func crashes() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let vault = HomeVault(home: home)
      let (one, other) = (try Self.zone(1), try Self.zone(2))
      try vault.saveHighWaterMark(Self.mark(1), zone: other)
      for number in UInt64(1)...5 {
        let before = try home.read(.highWater)
        let known = try vault.highWaterMark(one)
        try vault.saveHighWaterMark(Self.mark(number), zone: one)
        #expect(try vault.highWaterMark(one) == Self.mark(number))
        let after = try home.read(.highWater)
        #expect(after.count == before.count)
        let changed = after.indices.filter { after[$0] != before[$0] }
        let (first, last) = (try #require(changed.first), try #require(changed.last))
        // A crash may leave each of the bytes old, new, or something else.
        for torn in [first, (first + last) / 2, last] {
          for damage in [[], [UInt8](repeating: 1, count: last - torn)] {
            let bytes = damage.isEmpty ? Array(before[torn...last]) : damage
            try home.write(.highWater, after[..<torn] + bytes + after[(torn + bytes.count)...])
            #expect(try vault.highWaterMark(one) == known || vault.highWaterMark(one) == Self.mark(number))
            #expect(try vault.highWaterMark(other) == Self.mark(1))
          }
        }
        // The next save takes the damaged slot, whichever it is.
        try vault.saveHighWaterMark(Self.mark(number), zone: one)
        #expect(try vault.highWaterMark(one) == Self.mark(number) && vault.highWaterMark(other) == Self.mark(1))
      }
    }
  }

  @Test("marks of more zones than a slot can have make the file longer")
  func manyZones() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let vault = HomeVault(home: home)
      for byte in UInt8(1)...200 { try vault.saveHighWaterMark(Self.mark(UInt64(byte)), zone: Self.zone(byte)) }
      for byte in UInt8(1)...200 { #expect(try vault.highWaterMark(Self.zone(byte)) == Self.mark(UInt64(byte))) }
    }
  }

  @Test("a file of marks that is damaged in both slots, cut off or of a later version is refused")
  func damaged() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let vault = HomeVault(home: home)
      for number in UInt64(1)...2 { try vault.saveHighWaterMark(Self.mark(number), zone: Self.zone(1)) }
      let whole = try home.read(.highWater)
      var spoiled = whole
      for place in [20, whole.count / 2 + 20] { spoiled[place] ^= 1 }
      for bytes in [spoiled, Array(whole[..<100]), [], [9] + whole.dropFirst(100)] {
        try home.write(.highWater, bytes)
        #expect(throws: HomeError.self) { try vault.highWaterMark(Self.zone(1)) }
        #expect(throws: HomeError.self) { try vault.saveHighWaterMark(Self.mark(3), zone: Self.zone(1)) }
        #expect(try home.read(.highWater) == bytes)
      }
    }
  }
}
