import Glibc
import NIOCore

/// The process at the other end of a Unix socket, according to the kernel. It is the `struct ucred`, which Swift's
/// Glibc doesn't expose.
struct PeerCredentials: Sendable {
  let pid: Int32
  let uid: UInt32
  let gid: UInt32

  /// Returns whether the process that connected runs as this user or as root. Returns false if the channel isn't a
  /// socket.
  static func areOurs(on channel: any Channel) async throws -> Bool {
    guard let socket = channel as? any SocketOptionProvider else { return false }
    let credentials: PeerCredentials = try await socket.unsafeGetSocketOption(
      level: SocketOptionLevel(SOL_SOCKET), name: SocketOptionName(SO_PEERCRED)
    ).get()
    return credentials.uid == geteuid() || credentials.uid == 0
  }
}
