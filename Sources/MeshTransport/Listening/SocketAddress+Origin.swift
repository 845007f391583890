import NIOCore

extension SocketAddress {
  /// The network by which rates are counted: an IPv4 address (also if IPv6 carries it), or the first 64 bits of an IPv6
  /// address. One machine can choose among all addresses of that IPv6 network.
  var origin: Admission.Origin {
    withSockAddr { address, size in
      let bytes = UnsafeRawBufferPointer(start: address, count: size)
      switch self {
      case .v4: return Array(bytes[4..<8])
      case .v6: return Self.origin(v6: Array(bytes[8..<24]))
      case .unixDomainSocket: return []
      }
    }
  }

  private static func origin(v6 address: [UInt8]) -> Admission.Origin {
    let isMapped = address.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
    return Array(isMapped ? address.suffix(4) : address.prefix(8))
  }
}
