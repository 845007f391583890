import NIOCore
import Testing

@testable import MeshTransport

struct AdmissionTests {
  private var limits = TransportLimits()
  private let here: Admission.Origin = [127, 0, 0, 1]
  private let there: Admission.Origin = [10, 0, 0, 1]

  @Test("One address gets its burst, then its rate, and others are not concerned")
  mutating func oneAddressGetsItsBurstThenItsRateAndOthersAreNotConcerned() throws {
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

  @Test("a clock that goes back gives nothing and takes nothing")
  mutating func aClockThatGoesBackGivesNothingAndTakesNothing() {
    (limits.connectionBurst, limits.connectionsPerSecond) = (1, 1)
    let admission = Desk(limits: limits)
    #expect(admission.admits(here, now: 10_000))
    #expect(!admission.admits(here, now: 0))
    #expect(!admission.admits(here, now: 999))
    #expect(admission.admits(here, now: 1_000))
  }

  @Test("Of too many strangers at one address the oldest gives way")
  mutating func ofTooManyStrangersAtOneAddressTheOldestGivesWay() throws {
    limits.strangersPerAddress = 2
    let admission = Desk(limits: limits)
    let first = try #require(admission.place(here, now: 0))
    let second = try #require(admission.place(here, now: 0))
    let other = try #require(admission.place(there, now: 0))
    #expect(admission.evicted == [])
    #expect(admission.admits(here, now: 0))
    #expect(admission.evicted == [first])
    admission.left(second)
    #expect(admission.admits(here, now: 0))
    #expect(admission.evicted == [first])
    #expect(admission.met(other))
  }

  @Test("When all places are taken the oldest of the address with the most gives way")
  mutating func whenAllPlacesAreTakenTheOldestOfTheAddressWithTheMostGivesWay() throws {
    limits.strangers = 3
    let admission = Desk(limits: limits)
    let first = try #require(admission.place(there, now: 0))
    let many = [admission.place(here, now: 0), admission.place(here, now: 0)]
    #expect(admission.admits([1], now: 0))
    #expect(admission.evicted == [many[0]])
    #expect(admission.admits([2], now: 0))
    #expect(admission.evicted == [many[0], first])
  }

  @Test("strangers that fill all places exclude no other peer") func keepsNobodyOut() throws {
    let admission = Desk(limits: limits)
    for address in 0..<1_000 { _ = admission.admits([UInt8(address >> 8), UInt8(address & 0xff)], now: 0) }
    for address in 0..<8 {
      for _ in 0..<2 * limits.strangersPerAddress { _ = admission.admits([9, UInt8(address)], now: 0) }
    }
    let honest = try #require(admission.place(here, now: 0))
    // While the others continue, it has the time that they need for as many connections as there are places.
    for address in 0..<8 { for _ in 0..<8 { _ = admission.admits([9, UInt8(address)], now: 10_000) } }
    #expect(admission.met(honest))
  }

  @Test("a peer that has proven who it is gives way to nobody, and those are bounded")
  mutating func aPeerThatHasProvenWhoItIsGivesWayToNobodyAndThoseAreBounded() throws {
    (limits.acceptedLinks, limits.strangers) = (1, 1)
    let admission = Desk(limits: limits)
    let known = try #require(admission.place(here, now: 0))
    #expect(admission.met(known))
    #expect(!admission.admits(there, now: 0))
    admission.left(known)
    let evicted = try #require(admission.place(there, now: 0))
    #expect(admission.admits(here, now: 0))
    #expect(!admission.met(evicted))
  }

  @Test("Any number of addresses is served") mutating func anyNumberOfAddressesIsServed() throws {
    let admission = Desk(limits: limits)
    for address in 0..<20_000 {
      let origin = [UInt8(address >> 8), UInt8(address & 0xff)]
      admission.left(try #require(admission.place(origin, now: 0)))
    }
  }

  @Test(
    "IPv4 is counted by address, IPv6 by network",
    arguments: [
      ("10.1.2.3", [10, 1, 2, 3] as [UInt8]), ("::ffff:10.1.2.3", [10, 1, 2, 3]),
      ("2001:db8:1:2:3:4:5:6", [0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2]),
    ])
  func iPv4IsCountedByAddressIPv6ByNetwork(address: String, origin: [UInt8]) throws {
    #expect(try SocketAddress(ipAddress: address, port: 1).origin == origin)
  }
}

/// An admission that expectations can call.
private final class Desk {
  private var admission: Admission
  private(set) var evicted: [Admission.Place] = []

  init(limits: TransportLimits) { admission = Admission(limits: limits) }

  func place(_ origin: Admission.Origin, now: Int64) -> Admission.Place? {
    guard let (place, evicted) = try? admission.admit(origin, now: now) else { return nil }
    if let evicted { self.evicted.append(evicted) }
    return place
  }

  func admits(_ origin: Admission.Origin, now: Int64) -> Bool { place(origin, now: now) != nil }
  func met(_ place: Admission.Place) -> Bool { admission.met(place) }
  func left(_ place: Admission.Place) { admission.left(place) }
}
