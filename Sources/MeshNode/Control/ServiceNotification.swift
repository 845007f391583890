import MeshControl

/// Tells the service manager (systemd) the state of the daemon, over the socket that `NOTIFY_SOCKET` names.
public struct ServiceNotification: Sendable {
  private let socket: String?

  /// Creates the notification. If the variable isn't set, every call does nothing.
  public init(environment: [String: String]) {
    socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
  }

  public func ready() { send("READY=1") }
  public func stopping() { send("STOPPING=1") }

  private func send(_ state: String) {
    if let socket { UnixSocket.send(state, to: socket) }
  }
}
