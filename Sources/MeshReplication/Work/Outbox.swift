/// The actions that the driver has to perform.
final class Outbox {
  private(set) var actions: [Replica.Action] = []

  func add(_ action: Replica.Action) { actions.append(action) }
  func log(_ level: Replica.LogLevel, _ text: String) { actions.append(.log(level, text)) }

  func take() -> [Replica.Action] {
    defer { actions = [] }
    return actions
  }
}
