import NIOCore

extension SocketAddress {
  /// The address in text form, such as `127.0.0.1:7777` or `[::1]:7777`.
  var hostAndPort: String { Self.hostAndPort(ipAddress ?? "", port ?? 0) }

  static func hostAndPort(_ host: String, _ port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
