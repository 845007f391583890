import MeshControl
import MeshCore

/// Reads the JSON of requests.
///
/// A key that the request doesn't have is refused. It may be misspelt, and the request would otherwise be carried out
/// with the default, such as an invite that never ends.
enum RequestReader {
  /// - Throws: `Refusal` with the key that is unknown, missing or has the wrong value.
  static func read<Each: ControlRequest>(_ type: Each.Type, from bytes: [UInt8]) throws -> Each {
    let name = "\(Each.route.method == .get ? "GET" : "POST") \(Each.route.path)"
    func refusal(_ message: String) -> Refusal { Refusal(code: "control.request", message: message, exit: .usage) }
    let body: ReadKeys<Each>
    do {
      body = try ControlJSON.decode(ReadKeys<Each>.self, from: bytes)
    } catch DecodingError.keyNotFound(let key, _) {
      throw refusal("\(name) needs the key “\(key.stringValue)”.")
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context)
    {
      guard let key = context.codingPath.first else { throw refusal("the body of \(name) is not a JSON object.") }
      throw refusal("\(name) can't read the value of “\(key.stringValue)”. ControlInterface.md has what it takes.")
    }
    guard let unknown = body.given.subtracting(body.known).min() else { return body.value }
    let known = body.known.isEmpty ? "It has none." : "It has \(body.known.sorted().joined(separator: ", "))."
    throw refusal("\(name) has no key “\(printable(unknown, limit: 100))”. \(known) Nothing was done.")
  }
}

/// A value with the keys that its object has, and those that its type looks for.
private struct ReadKeys<Value: Decodable>: Decodable {
  let value: Value
  let given: Set<String>
  let known: Set<String>

  init(from decoder: any Decoder) throws {
    let recorder = KeyRecorder()
    given = Set(try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue))
    value = try Value(from: RecordingDecoder(decoder: decoder, recorder: recorder))
    known = recorder.keys
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// The keys that a type has looked for.
private final class KeyRecorder {
  var keys: Set<String> = []
}

private struct RecordingDecoder: Decoder {
  let decoder: any Decoder
  let recorder: KeyRecorder
  var codingPath: [any CodingKey] { decoder.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(
      RecordingContainer(container: try decoder.container(keyedBy: type), recorder: recorder))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try decoder.unkeyedContainer() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { try decoder.singleValueContainer() }
}

private struct RecordingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let container: KeyedDecodingContainer<Key>
  let recorder: KeyRecorder
  var codingPath: [any CodingKey] { container.codingPath }
  var allKeys: [Key] { container.allKeys }

  private func note(_ key: Key) -> Key {
    recorder.keys.insert(key.stringValue)
    return key
  }

  func contains(_ key: Key) -> Bool { container.contains(note(key)) }
  func decodeNil(forKey key: Key) throws -> Bool { try container.decodeNil(forKey: note(key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try container.decode(type, forKey: note(key))
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try container.nestedContainer(keyedBy: type, forKey: note(key))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try container.nestedUnkeyedContainer(forKey: note(key))
  }

  func superDecoder() throws -> any Decoder { try container.superDecoder() }
  func superDecoder(forKey key: Key) throws -> any Decoder { try container.superDecoder(forKey: note(key)) }
}
