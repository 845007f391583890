import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Bytes that wait may reach each bound, and not pass it.
@Suite struct QuotaTests {
  private let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

  private func device(_ number: UInt8) -> DeviceID { DeviceID([UInt8](repeating: number, count: 32)).unsafe }

  private func quota() throws -> WaitingQuota {
    let peer = try Peer(1, schema: table, track: ["t"])
    return try withExtendedLifetime(peer) { try peer.store.access.read { try WaitingQuota($0, Accounts()) } }
  }

  @Test("the devices of an account fill one bound together") func devicesOfAnAccount() throws {
    let account = try TestAccount(devices: 2, seed: 3)
    let peer = try Peer(1, schema: table, track: ["t"])
    var quota = try withExtendedLifetime(peer) {
      try peer.store.access.read { try WaitingQuota($0, Accounts([account.state])) }
    }
    let isWhole = try quota.take(StoreLimits.waitingBytes, account.device(0))
    let isBeyond = try quota.take(1, account.device(1))
    #expect(isWhole && !isBeyond)
  }

  @Test("a device fills its own bound to the byte") func aDeviceFillsItsOwnBoundToTheByte() throws {
    var quota = try quota()
    let isWhole = quota.take(StoreLimits.waitingBytes, device(1))
    let isBeyond = quota.take(1, device(1))
    let isOthers = quota.take(1, device(2))
    #expect(isWhole && !isBeyond && isOthers)
    var fresh = try self.quota()
    let isTooMuch = !fresh.take(StoreLimits.waitingBytes + 1, device(1))
    #expect(isTooMuch)
  }

  @Test("all together fill theirs to the byte, and beyond it each has its share to the byte")
  func allTogetherFillTheirsToTheByteAndBeyondItEachHasItsShareToTheByte() throws {
    var quota = try quota()
    for number in UInt8(1)...3 {
      let isTaken = quota.take(StoreLimits.waitingBytes, device(number))
      #expect(isTaken)
    }
    let rest = StoreLimits.waitingBytesOfAll - 3 * StoreLimits.waitingBytes - StoreLimits.waitingShare
    let isBelow = quota.take(rest - 1, device(4))
    let isExact = quota.take(StoreLimits.waitingShare + 1, device(5))
    #expect(isBelow && isExact, "all is full, and nobody but by its share")
    let isBeyond = quota.take(1, device(5))
    let isShare = quota.take(StoreLimits.waitingShare, device(6))
    let isBeyondShare = quota.take(1, device(6))
    #expect(!isBeyond && isShare && !isBeyondShare)
  }

  @Test("what waits is counted, and counted no more once it is merged")
  func whatWaitsIsCountedAndCountedNoMoreOnceItIsMerged() throws {
    let peer = try Peer(1, schema: table, track: ["t"])
    var forger = try Forger(9)
    let time = HybridTime(milliseconds: peer.now + Choices.clockBound + 1)
    let changeSet = try forger.make(forger.births([1], .value(.text([65])), time: time), time: time)
    _ = try peer.store.log.store([changeSet], zone: Peer.zone, now: peer.now)
    let room = StoreLimits.waitingBytes - Int64(changeSet.bytes.count)
    func takes(_ bytes: Int64) throws -> Bool {
      var quota = try peer.store.access.read { try WaitingQuota($0, Accounts()) }
      return quota.take(bytes, forger.author.device)
    }
    #expect(try takes(room) && !takes(room + 1))
    peer.now += 1
    try peer.apply()
    #expect(try peer.rows("SELECT id FROM t") == ["1"])
    #expect(try takes(StoreLimits.waitingBytes))
  }
}
