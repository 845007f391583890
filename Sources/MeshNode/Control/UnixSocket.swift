import Glibc

/// Unix sockets, as far as NIO does not need to be asked.
public enum UnixSocket {
  /// Bytes of a path: the address has 108, and one is the closing zero.
  public static let pathLimit = 107

  /// Whether a process listens at `path`. A file that a killed daemon left behind refuses; so does no file.
  public static func isListening(at path: String) -> Bool {
    withSocket(SOCK_STREAM, to: path) { connect($0, $1, $2) == 0 || errno == EAGAIN } ?? false
  }

  /// Sends one datagram; `path` may be abstract (`@name`). Nothing happens where nobody listens.
  static func send(_ text: String, to path: String) {
    let bytes = Array(text.utf8)
    _ = withSocket(SOCK_DGRAM, to: path) { sendto($0, bytes, bytes.count, Int32(MSG_NOSIGNAL), $1, $2) >= 0 }
  }

  /// Nil where the path does not fit or no socket is to be had. Never blocks.
  private static func withSocket(
    _ type: __socket_type, to path: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool? {
    var bytes = Array(path.utf8)
    guard !bytes.isEmpty, bytes.count <= pathLimit else { return nil }
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    let isAbstract = bytes[0] == 0
    let descriptor = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0, socklen_t(length)) }
    }
  }
}
