import NIOCore
import Testing

@testable import MeshTransport

struct AdmissionTests {
  private var limits = TransportLimits()
  private let here: Admission.Origin = [127, 0, 0, 1]
  private let there: Admission.Origin = [10, 0, 0, 1]

  @Test mutating func `One address gets its burst, then its rate, and others are not concerned`() throws {
    (limits.connectionBurst, limits.connectionsPerSecond) = (3, 2)
    let admission = Desk(limits: limits)
    for _ in 0..<3 { #expect(admission.admits(here, now: 0)) }
    #expect(!admission.admits(here, now: 0))
    #expect(admission.admits(there, now: 0))
    #expect(!admission.admits(here, now: 499))
    #expect(admission.admits(here, now: 500))
    #expect(!admission.admits(here, now: 600))
    #expect(admission.admits(here, now: 3_600_000))
  }

  @Test mutating func `A clock that goes back gives nothing and takes nothing`() {
    (limits.connectionBurst, limits.connectionsPerSecond) = (1, 1)
    let admission = Desk(limits: limits)
    #expect(admission.admits(here, now: 10_000))
    #expect(!admission.admits(here, now: 0))
    #expect(!admission.admits(here, now: 999))
    #expect(admission.admits(here, now: 1_000))
  }

  @Test mutating func `The places of one address are bounded, and come back`() {
    limits.halfOpenPerAddress = 2
    let admission = Desk(limits: limits)
    #expect(admission.admits(here, now: 0) && admission.admits(here, now: 0))
    #expect(!admission.admits(here, now: 0))
    #expect(admission.admits(there, now: 0))
    admission.finished(here, isLink: false)
    #expect(admission.admits(here, now: 0))
  }

  @Test mutating func `The places of all addresses together are bounded, and come back`() {
    limits.halfOpen = 2
    let admission = Desk(limits: limits)
    #expect(admission.admits(here, now: 0) && admission.admits(there, now: 0))
    #expect(!admission.admits([1], now: 0))
    admission.finished(there, isLink: true)
    #expect(admission.admits([1], now: 0))
  }

  @Test("a few addresses that fill their places leave some to others") func leavesPlacesToOthers() {
    let admission = Desk(limits: limits)
    for address in 1...8 { for _ in 0..<limits.halfOpenPerAddress { _ = admission.admits([UInt8(address)], now: 0) } }
    for address in 0..<8 { #expect(admission.admits([200, UInt8(address)], now: 0)) }
  }

  @Test mutating func `Links are bounded, and come back`() {
    limits.acceptedLinks = 1
    let admission = Desk(limits: limits)
    #expect(admission.admits(here, now: 0))
    admission.finished(here, isLink: true)
    #expect(!admission.admits(there, now: 0))
    admission.ended()
    #expect(admission.admits(there, now: 0))
  }

  @Test mutating func `Any number of addresses is served`() {
    let admission = Desk(limits: limits)
    for address in 0..<20_000 {
      let origin = [UInt8(address >> 8), UInt8(address & 0xff)]
      #expect(admission.admits(origin, now: 0))
      admission.finished(origin, isLink: false)
    }
  }

  @Test(arguments: [
    ("10.1.2.3", [10, 1, 2, 3] as [UInt8]), ("::ffff:10.1.2.3", [10, 1, 2, 3]),
    ("2001:db8:1:2:3:4:5:6", [0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2]),
  ])
  func `IPv4 is counted by address, IPv6 by network`(address: String, origin: [UInt8]) throws {
    #expect(try SocketAddress(ipAddress: address, port: 1).origin == origin)
  }
}

/// An admission that expectations can call.
private final class Desk {
  private var admission: Admission

  init(limits: TransportLimits) { admission = Admission(limits: limits) }

  func admits(_ origin: Admission.Origin, now: Int64) -> Bool {
    do throws(TransportError) {
      try admission.admit(origin, now: now)
      return true
    } catch {
      return false
    }
  }

  func finished(_ origin: Admission.Origin, isLink: Bool) { admission.finished(origin, isLink: isLink) }
  func ended() { admission.ended() }
}
