import Foundation
import MeshCore

/// Addresses to dial that joining brought, and the device that answered at each address. The daemon writes this file, so that
/// `config.toml` is a person's alone.
struct KnownPeers: Codable, Equatable {
  private var peers: [Peer] = []

  private struct Peer: Codable, Equatable {
    let address: String
    /// Whether the address is dialled because of this file.
    var isDialled: Bool
    /// Its id.
    var device: Data?
  }

  /// Addresses that are dialled beside those of `config.toml`.
  var dialled: [HostPort] { peers.filter(\.isDialled).compactMap { HostPort($0.address) } }

  /// The device that was met last at an address.
  func device(at address: HostPort) -> DeviceID? {
    peers.first { $0.address == address.description }?.device.flatMap { DeviceID(Array($0)) }
  }

  /// Has an address dialled from now on.
  mutating func dial(_ address: HostPort) { change(address) { $0.isDialled = true } }

  mutating func met(_ device: DeviceID, at address: HostPort) { change(address) { $0.device = Data(device.bytes) } }

  private mutating func change(_ address: HostPort, _ change: (inout Peer) -> Void) {
    let place = peers.firstIndex { $0.address == address.description } ?? peers.endIndex
    if place == peers.endIndex { peers.append(Peer(address: address.description, isDialled: false)) }
    change(&peers[place])
  }
}

extension Home {
  /// Empty if the file is missing. What is no such file is left out as well: it holds nothing that joining or the next session would
  /// not bring again.
  func knownPeers() -> KnownPeers {
    guard let bytes = try? read(.peers) else { return KnownPeers() }
    return (try? JSONDecoder().decode(KnownPeers.self, from: Data(bytes))) ?? KnownPeers()
  }

  func write(_ peers: KnownPeers) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try write(.peers, Array(encoder.encode(peers)) + [0x0a])
  }
}
