/// An action that the driver has to perform.
package enum ReplicaAction: Sendable {
  case send(LinkID, [UInt8])
  /// Closes the session after all earlier messages have left.
  case close(LinkID, SessionEnd)
  case log(LogLevel, String)

  package enum LogLevel: Sendable { case info, warning }
}

/// The actions that the driver has to perform.
final class Outbox {
  private(set) var actions: [ReplicaAction] = []

  func add(_ action: ReplicaAction) { actions.append(action) }
  func log(_ level: ReplicaAction.LogLevel, _ text: String) { actions.append(.log(level, text)) }

  func take() -> [ReplicaAction] {
    defer { actions = [] }
    return actions
  }
}
