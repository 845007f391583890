import NIOCore
import NIOPosix

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Transport {
  static func listenError(_ error: any Error, _ host: String, _ port: Int) -> TransportError {
    let address = SocketAddress.hostAndPort(host, port)
    switch (error as? IOError)?.errnoCode {
    case EADDRINUSE:
      return TransportError(.addressInUse, "address \(address) is in use; choose another with --listen")
    case EADDRNOTAVAIL:
      return TransportError(
        .addressUnavailable, "address \(address) is not one of this machine; choose another with --listen")
    case EACCES:
      return TransportError(
        .addressUnavailable, "address \(address) needs privileges; choose a port over 1023 with --listen")
    default:
      return TransportError(
        .addressUnavailable, "cannot listen on \(address): \(words(error)); choose another address with --listen")
    }
  }

  static func dialError(_ error: any Error, _ address: String) -> TransportError {
    switch error {
    case let error as TransportError: return TransportError(error.code, "\(address): \(error.message)")
    case ChannelError.connectTimeout: return TransportError(.timedOut, "\(address) did not answer in time")
    case let error as NIOConnectionError:
      let isTimeout = error.connectionErrors.contains {
        if case ChannelError.connectTimeout = $0.error { true } else { false }
      }
      return isTimeout
        ? TransportError(.timedOut, "\(address) did not answer in time")
        : TransportError(.unreachable, "\(address) cannot be reached: \(reason(error))")
    default: return TransportError(.unreachable, "\(address) cannot be reached: \(words(error))")
    }
  }

  private static func reason(_ error: NIOConnectionError) -> String {
    if let connection = error.connectionErrors.last { return words(connection.error) }
    return "no such host"
  }

  /// Returns the operating system's reason. NIO's text names the call that failed.
  private static func words(_ error: any Error) -> String {
    guard let error = error as? IOError else { return "\(error)" }
    return String(cString: strerror(error.errnoCode))
  }
}
