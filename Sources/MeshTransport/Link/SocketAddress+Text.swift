import NIOCore

extension SocketAddress {
  /// `127.0.0.1:7777`, `[::1]:7777`.
  var hostAndPort: String { Self.hostAndPort(ipAddress ?? "", port ?? 0) }

  static func hostAndPort(_ host: String, _ port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
