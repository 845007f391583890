import Glibc
import NIOCore

/// Who is at the other end of a Unix socket, as the kernel says it: its `struct ucred`, which Swift's Glibc does not
/// show.
struct PeerCredentials: Sendable {
  let pid: Int32
  let uid: UInt32
  let gid: UInt32

  /// Whether the process that connected runs as this user or as root. False for what is no socket.
  static func areOurs(on channel: any Channel) async throws -> Bool {
    guard let socket = channel as? any SocketOptionProvider else { return false }
    let credentials: PeerCredentials = try await socket.unsafeGetSocketOption(
      level: SocketOptionLevel(SOL_SOCKET), name: SocketOptionName(SO_PEERCRED)
    ).get()
    return credentials.uid == geteuid() || credentials.uid == 0
  }
}
