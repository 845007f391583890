/// A question to a node, or something that the node is to do.
///
/// A request's type is its whole declaration. Send one with ``NodeControl/perform(_:)``:
///
/// ```swift
/// let status = try await node.perform(StatusRequest())
/// ```
public protocol ControlRequest: Codable, Sendable {
  /// The type of the node's answer.
  associatedtype Answer: Codable & Sendable

  /// The HTTP method and path at which the daemon answers the request, and the type of its answer.
  static var route: ControlRoute<Answer> { get }

  /// How long a client waits, from connecting to the whole answer.
  var timeLimit: Duration { get }
}

extension ControlRequest {
  /// 30 seconds, unless a request takes longer.
  public var timeLimit: Duration { .controlMargin }
}

extension Duration {
  /// The daemon's time for short work, or beyond the time that it was given: it may be in the middle of a long merge, on
  /// a slow disk.
  static let controlMargin = Duration.seconds(30)

  /// Work on all rows of large tables takes minutes, not hours.
  static let longWork = Duration.seconds(3_600)

  /// A year: beyond it a deadline is a mistake, and arithmetic with it is safe.
  package static let longest = Duration.seconds(365 * 86_400)

  /// The duration in seconds, as the requests carry it.
  package var inSeconds: Double { self / .seconds(1) }

  /// `value`, but at least zero and at most `longest`. A value that is not a number counts as zero.
  static func seconds(clamped value: Double) -> Duration {
    value > 0 ? .milliseconds(Int64(min(value, Duration.longest.inSeconds) * 1000)) : .zero
  }
}

/// An HTTP method.
public enum ControlMethod: String, Sendable {
  /// The request has no parameters and changes nothing.
  case get = "GET"
  /// The request's parameters are a JSON object in the body.
  case post = "POST"
}

/// The HTTP method and path of a request that has answers of one type.
public struct ControlRoute<Answer: Codable & Sendable>: Hashable, Sendable, CustomStringConvertible {
  /// The HTTP method.
  public let method: ControlMethod
  /// The path of the URL, which begins with a slash.
  public let path: String

  /// The method and the path: `GET /v1/status`.
  public var description: String { "\(method.rawValue) \(path)" }

  /// Returns the route of a request without parameters.
  package static func get(_ path: String) -> Self { Self(method: .get, path: path) }
  /// Returns the route of a request whose parameters are JSON in the body.
  package static func post(_ path: String) -> Self { Self(method: .post, path: path) }
}

/// Something that performs control requests: a daemon through ``ControlClient``, or a node in this process.
///
/// Ids are the displayed texts, in requests and in answers. A request may also name a device by its name if only one
/// device has it.
public protocol NodeControl: Sendable {
  /// Performs a request and returns the node's answer.
  ///
  /// - Throws: ``Refusal`` if the node refuses, and ``ControlClientError`` if no daemon answers.
  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer
}
