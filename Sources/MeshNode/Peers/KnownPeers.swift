import Foundation
import MeshCore

/// The addresses to dial that joining brought, and the device that answered at each address. The daemon writes this
/// file, so that only a person writes `config.toml`.
struct KnownPeers: Codable, Equatable {
  private var peers: [Peer] = []

  private struct Peer: Codable, Equatable {
    let address: String
    /// True if the address is dialled because of this file.
    var isDialled: Bool
    /// The id of the device.
    var device: Data?
  }

  /// The addresses that are dialled beside those of `config.toml`.
  var dialled: [HostPort] { peers.filter(\.isDialled).compactMap { HostPort($0.address) } }

  /// Returns the device that was last met at an address.
  func device(at address: HostPort) -> DeviceID? {
    peers.first { $0.address == address.description }?.device.flatMap { DeviceID(Array($0)) }
  }

  /// Makes the node dial an address from now on.
  mutating func dial(_ address: HostPort) { change(address) { $0.isDialled = true } }

  mutating func forget(_ address: HostPort) { peers.removeAll { $0.address == address.description } }

  mutating func met(_ device: DeviceID, at address: HostPort) { change(address) { $0.device = Data(device.bytes) } }

  private mutating func change(_ address: HostPort, _ change: (inout Peer) -> Void) {
    let place = peers.firstIndex { $0.address == address.description } ?? peers.endIndex
    if place == peers.endIndex { peers.append(Peer(address: address.description, isDialled: false)) }
    change(&peers[place])
  }
}

extension Home {
  /// Returns the known peers. The result is empty if the file is missing, as before the first session.
  ///
  /// - Throws: A `HomeError` `.damaged`, so that addresses that exist nowhere else are not overwritten.
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
