import MeshCore
import NIOCore

/// The addresses that others are told to dial.
enum LocalAddresses {
  /// Returns the configured address, or else the listening address. If that is "every interface", it returns the
  /// machine's addresses, with loopback last.
  static func toAdvertise(_ listening: HostPort, configured: HostPort?) -> [String] {
    if let configured { return [configured.description] }
    guard listening.host == "0.0.0.0" || listening.host == "::" else { return [listening.description] }
    let wantsIPv6 = listening.host == "::"
    let hosts = ((try? System.enumerateDevices()) ?? []).compactMap(\.address).compactMap { address -> String? in
      switch address {
      case .v4: address.ipAddress
      case .v6: wantsIPv6 ? address.ipAddress.flatMap { $0.hasPrefix("fe80") ? nil : $0 } : nil
      case .unixDomainSocket: nil
      }
    }
    let sorted = hosts.filter { !isLoopback($0) } + hosts.filter(isLoopback)
    return sorted.prefix(Limits.inviteAddresses).map { HostPort(host: $0, port: listening.port).description }
  }

  private static func isLoopback(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }
}
