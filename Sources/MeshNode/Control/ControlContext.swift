import HTTPTypes
import Hummingbird
import Logging
import MeshControl
import NIOCore

/// The context of a control request: the facts that a route knows beside the request.
struct ControlContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// The maximum size of a request's body in bytes, enough for the names of some thousand tables.
  static let bodyLimit = 1 << 20
}

/// Refuses processes of other users, in case the directory's mode admits them.
struct OwnProcessesOnly: RouterMiddleware {
  func handle(
    _ request: Request, context: ControlContext, next: (Request, ControlContext) async throws -> Response
  ) async throws -> Response {
    guard try await PeerCredentials.areOurs(on: context.channel) else {
      throw Refusal(code: "control.user", message: "this socket answers its owner and root only.")
    }
    return try await next(request, context)
  }
}

/// Turns every error into an answer that a command can show.
struct RefusalAnswers: RouterMiddleware {
  func handle(
    _ request: Request, context: ControlContext, next: (Request, ControlContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      let refusal = refusal(for: error, request)
      if refusal.code == Self.internalCode {
        // The type is enough to find the place. A description may contain values of a row.
        context.logger.error(
          "A control request failed.", metadata: ["path": "\(request.uri.path)", "error": "\(type(of: error))"])
      }
      return try .json(RefusalEnvelope(error: refusal), status: status(refusal))
    }
  }

  private static let internalCode = "control.internal"

  private func refusal(for error: any Error, _ request: Request) -> Refusal {
    switch error {
    case let error as any Refusing: error.refusal
    case let error as HTTPError where error.status == .notFound:
      Refusal(code: Refusal.noRoute, message: "there is no \(request.method) \(request.uri.path).", exit: .usage)
    case let error as HTTPError:
      Refusal(code: "control.request", message: error.body ?? error.status.reasonPhrase, exit: .usage)
    case is CancellationError:
      Refusal(code: Refusal.stopping, message: "the daemon is stopping. Try again when it runs.", exit: .daemonNeeded)
    default:
      Refusal(
        code: Self.internalCode, message: "the daemon failed unexpectedly (\(type(of: error))). Its log says when.")
    }
  }

  private func status(_ refusal: Refusal) -> HTTPResponse.Status {
    switch (refusal.exit, refusal.code) {
    case (_, Refusal.noRoute): .notFound
    case (_, "control.user"): .forbidden
    case (_, Self.internalCode): .internalServerError
    case (.usage, _): .badRequest
    case (.daemonNeeded, _), (.noMember, _): .serviceUnavailable
    case (.done, _), (.no, _), (.refused, _): .conflict
    }
  }
}

extension Response {
  private static let headers: HTTPFields = {
    var headers: HTTPFields = [.contentType: "application/json"]
    if let name = HTTPField.Name(MeshVersion.header) { headers[name] = MeshVersion.current.description }
    return headers
  }()

  /// Returns a response with one JSON object and a line break.
  static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
    let bytes = try ControlJSON.encode(value) + [UInt8(ascii: "\n")]
    return Response(
      status: status, headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }
}
