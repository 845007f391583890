import MeshCore
import Testing

@testable import MeshNode

@Suite struct KnownPeersTests {
  private let first = HostPort(host: "10.0.0.2", port: 7404)
  private let second = HostPort(host: "::1", port: 1)

  private func device(_ byte: UInt8) throws -> DeviceID { try #require(DeviceID([UInt8](repeating: byte, count: 32))) }

  @Test("addresses and the devices behind them are read as they were written")
  func roundTrip() async throws {
    let (one, other) = (try device(1), try device(2))
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      #expect(try home.knownPeers() == KnownPeers())
      var peers = KnownPeers()
      peers.dial(first)
      peers.dial(first)
      peers.met(one, at: second)
      peers.met(one, at: first)
      peers.met(other, at: first)
      try home.write(peers)
      let read = try home.knownPeers()
      #expect(read == peers && read.dialled == [first])
      #expect(read.device(at: first) == other && read.device(at: second) == one)
    }
  }

  @Test("a forgotten address is not dialled, and its device is unknown")
  func forgotten() throws {
    var peers = KnownPeers()
    for address in [first, second] {
      peers.dial(address)
      peers.met(try device(1), at: address)
    }
    peers.forget(first)
    #expect(peers.dialled == [second] && peers.device(at: first) == nil)
    #expect(peers.device(at: second) == (try device(1)))
  }

  @Test("a damaged file stops the node: nothing else has the addresses", arguments: ["", "{", "{\"peers\": 7}", "[]"])
  func damaged(text: String) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(.peers, Array(text.utf8))
      let error = #expect(throws: HomeError.self) { try home.knownPeers() }
      #expect(error?.code == .damaged && error?.message.contains("peers.json") == true)
    }
  }

  @Test("what is no address or no id in the file is passed over")
  func wrongEntries() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let text =
        #"{"peers": [{"address": "no", "isDialled": true}, {"address": "a:1", "isDialled": true, "device": "AAAA"}]}"#
      try home.write(.peers, Array(text.utf8))
      #expect(try home.knownPeers().dialled == [HostPort(host: "a", port: 1)])
      #expect(try home.knownPeers().device(at: HostPort(host: "a", port: 1)) == nil)
    }
  }
}
