import Glibc

/// Unix sockets by the system's calls, none of which blocks.
package enum UnixSocket {
  /// The greatest length of a path, in bytes. The address has 108, and one is the closing zero.
  package static let pathLimit = 107

  /// Returns whether a process listens at `path`. Nothing listens at a file that a killed daemon left behind.
  package static func isListening(at path: String) -> Bool {
    withSocket(SOCK_STREAM, to: path) { connect($0, $1, $2) == 0 || errno == EAGAIN } ?? false
  }

  /// Sends one datagram; `path` may be abstract (`@name`). Nothing happens if nobody listens.
  package static func send(_ text: String, to path: String) {
    let bytes = Array(text.utf8)
    _ = withSocket(SOCK_DGRAM, to: path) { sendto($0, bytes, bytes.count, Int32(MSG_NOSIGNAL), $1, $2) >= 0 }
  }

  /// A new socket, which the caller closes; nil if the system has none left.
  static func descriptor(_ type: __socket_type) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Nil if the path does not fit.
  static func withAddress<Result>(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var bytes = Array(path.utf8)
    guard !bytes.isEmpty, bytes.count <= pathLimit else { return nil }
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    let isAbstract = bytes[0] == 0
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }

  private static func withSocket(
    _ type: __socket_type, to path: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool? {
    guard let descriptor = descriptor(type) else { return nil }
    defer { close(descriptor) }
    return withAddress(of: path) { body(descriptor, $0, $1) }
  }
}
