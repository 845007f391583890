/// A TCP address in text form: `host:port`, `192.0.2.1:7404` or `[2001:db8::1]:7404`.
public struct HostPort: Hashable, Sendable, CustomStringConvertible {
  /// A name or an address, without brackets.
  public let host: String
  /// The port. For a listening address, 0 lets the system choose one.
  public let port: UInt16

  /// Creates an address from its two parts, which are not checked.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Parses an address. Returns nil if the text doesn't have that form. Both parts are needed, and an IPv6 address
  /// needs its brackets.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
      return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard host.contains(":") else { return nil }
    } else if host.contains(":") {
      return nil
    }
    guard (1...Self.hostLimit).contains(host.utf8.count), host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      !host.contains(where: { "[]/\"\\".contains($0) })
    else { return nil }
    self.init(host: String(host), port: port)
  }

  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// The maximum length of a host in bytes, which is that of a name in the DNS.
  static let hostLimit = 253
}
