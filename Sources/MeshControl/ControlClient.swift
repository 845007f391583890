/// A running daemon, which this client reaches through the socket in its home.
///
/// Every request opens a connection of its own. The client needs no other library, and never blocks a thread of Swift's
/// concurrency pool. If you cancel the task, the connection closes, and `perform` throws `CancellationError`.
public struct ControlClient: NodeControl {
  private let socket: String

  /// Creates a client of the daemon that runs on a home.
  ///
  /// - Parameter home: The node's home directory, as in `mesh --home`. It is an absolute path.
  public init(home: String) { self.init(socket: "\(home)/control.sock") }

  /// Creates a client of the daemon that listens at the path `socket`.
  public init(socket: String) { self.socket = socket }

  /// Whether a process listens at the socket now.
  package var isAnswered: Bool { UnixSocket.isListening(at: socket) }

  /// Sends a request to the daemon and returns its answer.
  ///
  /// - Throws: ``Refusal`` if the node refuses, ``ControlClientError`` if no daemon answers within the request's
  ///   ``ControlRequest/timeLimit``, and `CancellationError` if the task is cancelled.
  public func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    let route = Request.route
    let body = route.method == .get ? [] : try ControlJSON.encode(request)
    let answer = try await ControlExchange(
      method: route.method, path: route.path, body: body, limit: request.timeLimit
    ).run(on: socket)
    do {
      guard answer.isSuccess else { throw try ControlJSON.decode(RefusalEnvelope.self, from: answer.body).error }
      return try ControlJSON.decode(Request.Answer.self, from: answer.body)
    } catch let refusal as Refusal {
      guard refusal.code == Refusal.noRoute, answer.version != .current else { throw refusal }
      throw ControlClientError.otherVersion(answer.version, route.path)
    } catch {
      guard let version = answer.version, version != .current else { throw ControlClientError.garbled(route.path) }
      throw ControlClientError.otherVersion(version, route.path)
    }
  }
}
