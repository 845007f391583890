import Hummingbird
import MeshControl
import NIOCore

/// The control interface, with one route for each type of request.
struct ControlRoutes {
  let node: any NodeControl

  func router() -> Router<ControlContext> {
    let router = Router(context: ControlContext.self)
    router.add(middleware: RefusalAnswers())
    router.add(middleware: OwnProcessesOnly())
    for request in Node.handlers.requests { add(request, to: router) }
    // Without parameters, the route returns the newest conflicts.
    router.get(RouterPath(ConflictsRequest.route.path)) { _, _ in
      try Response.json(await node.perform(ConflictsRequest()))
    }
    return router
  }

  private func add<Each: ControlRequest>(_ type: Each.Type, to router: Router<ControlContext>) {
    router.on(RouterPath(type.route.path), method: type.route.method == .get ? .get : .post) { request, _ in
      try Response.json(await node.perform(await read(type, from: request)))
    }
  }

  private func read<Each: ControlRequest>(_ type: Each.Type, from request: Request) async throws -> Each {
    let buffer: ByteBuffer
    do {
      buffer = try await request.body.collect(upTo: ControlContext.bodyLimit)
    } catch is NIOTooManyBytesError {
      throw Refusal(
        code: "control.tooLong", message: "a request's body has at most \(ControlContext.bodyLimit) bytes.",
        exit: .usage)
    }
    let bytes = Array(buffer.readableBytesView)
    return try RequestReader.read(type, from: bytes.isEmpty ? Array("{}".utf8) : bytes)
  }
}
