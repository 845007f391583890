import Synchronization

/// Texts that are made once for each type, because a generic type can't store them.
final class TypeCache: Sendable {
  private let texts = Mutex<[ObjectIdentifier: String]>([:])

  func text(for type: Any.Type, _ make: () -> String) -> String {
    let key = ObjectIdentifier(type)
    if let text = texts.withLock({ $0[key] }) { return text }
    // Outside of the lock, because one text may need another.
    let text = make()
    texts.withLock { $0[key] = text }
    return text
  }
}
