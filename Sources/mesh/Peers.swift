import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshNode

struct Peers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the other devices and how far behind each is.",
    discussion: """
      HERE counts the change sets that this node still has to receive from the device, THERE those that the device still has to \
      receive. ADDRESS is where this node dials the device. With “incoming from”, the device has dialled this node. Needs a \
      running daemon.

      Example:
        mesh peers --json
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  func run() async throws {
    let need = NodeAccess.Need.daemon(because: "only a running daemon is connected to peers.")
    let report = try await home.access().perform(PeersRequest(), need)
    if json.isOn { return try Output.json(report) }
    Output.print(report.peers.isEmpty ? "No other device is known yet." : Self.table(report.peers).text)
  }

  static func table(_ peers: [PeerReport]) -> TextTable {
    var table = TextTable("PEER", "NAME", "ADDRESS", "CONNECTED", "HERE", "THERE", "LAST ERROR")
    for peer in peers {
      table.add(
        peer.device ?? "?", peer.name ?? "", address(of: peer), peer.connected ? "yes" : "no", "\(peer.behind.here)",
        "\(peer.behind.there)", peer.lastError ?? "")
    }
    return table
  }

  private static func address(of peer: PeerReport) -> String {
    // The port is temporary.
    peer.incoming.map { "incoming from \(HostPort($0)?.host ?? $0)" } ?? peer.address ?? ""
  }
}
