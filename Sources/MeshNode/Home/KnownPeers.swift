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
  /// Empty if the file is missing: before the first session.
  ///
  /// - Throws: `HomeError` `damaged` rather than write over addresses that nothing else has.
  func knownPeers() throws(HomeError) -> KnownPeers {
    guard try Disk.entry(path(of: .peers)) != nil else { return KnownPeers() }
    do {
      return try JSONDecoder().decode(KnownPeers.self, from: Data(try read(.peers)))
    } catch let error as HomeError {
      throw error
    } catch {
      throw HomeError(
        .damaged,
        "\(path(of: .peers)) is damaged. Move it away, and add the addresses of the shares' members to peers in config.toml."
      )
    }
  }

  func write(_ peers: KnownPeers) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try write(.peers, Array(encoder.encode(peers)) + [0x0a])
  }
}
