import Foundation
import MeshControl
import ServiceLifecycle
import Synchronization

/// A node that answers each request with a sample, and records the requests.
final class StubNode: NodeControl {
  private let noted = Mutex<[String]>([])

  /// The requests that arrived, each in the form of `text(of:)`.
  var received: [String] { noted.withLock(\.self) }

  /// Returns the route of a request, a space, and its JSON.
  static func text<Request: ControlRequest>(of request: Request) throws -> String {
    "\(Request.route) \(String(decoding: try ControlJSON.encode(request), as: UTF8.self))"
  }

  func perform<Request: ControlRequest>(_ request: Request) async throws -> Request.Answer {
    let text = try Self.text(of: request)
    noted.withLock { $0.append(text) }
    switch request {
    case let request as WaitRequest:
      try await cancelWhenGracefulShutdown { try await Task.sleep(for: request.timeout) }
    case let request as RevokeRequest where request.device == "x":
      throw Refusal(code: "device.unknown", message: "No device is called x.\nSee mesh device list.")
    case let request as RecordRequest where request.table == "surprise": throw Surprise()
    default: break
    }
    return try Self.answer(to: Request.self)
  }

  static func answer<Request: ControlRequest>(to type: Request.Type) throws -> Request.Answer {
    for case let answer as Request.Answer in AnswerSamples.answers { return answer }
    throw Surprise()
  }

  private struct Surprise: Error {
    let secret = "row value"
  }
}

/// A request of each type, with a value in every field.
enum RequestSamples {
  static let requests: [any ControlRequest] = [
    StatusRequest(), PeersRequest(), ZonesRequest(),
    ConflictsRequest(
      table: "notes", zone: "zone-7", device: "laptop", since: AnswerSamples.when, after: 9, limit: 3,
      dismissed: true), DismissRequest(conflicts: [7, 9]), DismissRequest(through: 9),
    HeldRequest(), RetryRequest(),
    ResolveRequest(table: "notes", key: "n1", values: ["a": "7"], keepShown: true, zone: "zone-7"),
    DiscardRequest(table: "notes", keys: ["n1", "n2"], zone: "zone-7"),
    DiscardableRequest(table: "notes", keys: ["n1", "n2"], zone: "zone-7"), RestoreRequest(conflict: 7),
    RestoreRequest(table: "notes", key: "n1", columns: ["a"], descendants: true, zone: "zone-7"),
    RecordRequest(table: "notes", key: "n1"), AccountRequest(), DoctorRequest(), DeepDoctorRequest(),
    BackupRequest(file: "/b.db"), YieldRequest(process: 7), VerifyRequest(timeout: .milliseconds(1)),
    WaitRequest(timeout: .milliseconds(1), here: true),
    AssetsRequest(), AssetShowRequest(table: "photos", key: "p1", column: "image"),
    AssetFetchRequest(table: "photos", key: "p1", column: "image"),
    AssetEvictRequest(table: "photos", key: "p1", column: "image", force: true), AssetPoliciesRequest(),
    AssetPolicyRequest(table: "photos", policy: .onDemand),
    TrackRequest(
      tables: ["notes"], privateTables: ["drafts"], integerKeys: true, policies: ["notes": ["stars": "counter"]]),
    UntrackRequest(tables: ["a", "b"]),
    RescanRequest(tables: ["a"]), SchemaRequest(), ApplySchemaRequest(), DevicesRequest(),
    InviteRequest(expires: .seconds(90)), RevokeRequest(device: "device-2"),
    DeviceChangeRequest(device: "device-2", act: .promote), RestampRequest(),
    ReplaceKeyRequest(recovery: "mesh-recovery-x", readmit: ["device-2"]), SharesRequest(), ShareRequest(share: "list"),
    ShareCreateRequest(table: "lists", key: "a", title: "list"),
    ShareInviteRequest(
      share: "list", permission: .readWrite, expires: .seconds(90), uses: 2, account: "account-2"),
    ShareJoinRequest(link: "mesh-share-x", claims: true, peers: ["a:1"]),
    ShareChangeRequest(
      .setPermission, share: "list", account: "account-2", permission: .readOnly, invite: "control-1", keepCopy: true,
      force: true, undo: true, title: "other"), ShareReceiptRequest(share: "list", restore: true, discard: true),
  ]
}
