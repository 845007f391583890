import MeshControl

/// Tells the service manager (systemd) the state of the daemon, over the socket that `NOTIFY_SOCKET` names.
public struct ServiceNotification: Sendable {
  private let socket: String?

  /// Creates the notification. If the variable isn't set, every call does nothing.
  public init(environment: [String: String]) {
    socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
  }

  /// The node runs.
  public func ready() { send("READY=1\nSTATUS=") }

  /// The daemon can't run yet. The manager shows the reason, and gives it more time.
  public func waiting(_ reason: String) {
    send("STATUS=\(reason)\nEXTEND_TIMEOUT_USEC=\(Self.patience)000000")
  }

  /// The daemon has begun to stop.
  public func stopping() { send("STOPPING=1") }

  /// The seconds in which the manager expects the next notice.
  private static let patience = 60

  private func send(_ state: String) {
    if let socket { UnixSocket.send(state, to: socket) }
  }
}
