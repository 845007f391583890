import MeshCore
import TOMLKit

/// A parsed `config.toml` with its text, so that errors can name the line.
struct ConfigurationSource {
  let table: TOMLTable
  let text: String
  let path: String

  static let keys = ["database", "listen", "advertise", "peers", "keep-copies", "keep-blobs"]

  func checkKeys() throws(HomeError) {
    for key in table.keys.sorted(by: { line($0) < line($1) }) where !Self.keys.contains(key) {
      throw wrong(key, "is not a key of this file; it has \(Self.keys.joined(separator: ", "))")
    }
  }

  func text(_ key: String) throws(HomeError) -> String? {
    guard let value = table[key] else { return nil }
    guard let text = value.string else { throw wrong(key, "must be a text in quotes") }
    return text
  }

  func flag(_ key: String) throws(HomeError) -> Bool? {
    guard let value = table[key] else { return nil }
    guard let flag = value.bool else { throw wrong(key, "must be true or false") }
    return flag
  }

  /// Returns a number of bytes with a unit, such as "512MiB" or "0".
  func size(_ key: String) throws(HomeError) -> Int? {
    guard let text = try text(key) else { return nil }
    guard let bytes = ByteSize.bytes(text) else {
      throw wrong(key, "must be a number of bytes with a unit in quotes: \"512MiB\", \"1GiB\", or \"0\" for none")
    }
    return bytes
  }

  func address(_ key: String) throws(HomeError) -> HostPort? {
    guard let text = try text(key) else { return nil }
    return try address(text, key)
  }

  func addresses(_ key: String) throws(HomeError) -> [HostPort] {
    guard let value = table[key] else { return [] }
    guard let array = value.array else { throw wrong(key, "must be a list: [\"HOST:PORT\"]") }
    var result: [HostPort] = []
    for element in array {
      guard let text = element.string else { throw wrong(key, "must be a list of texts: [\"HOST:PORT\"]") }
      result.append(try address(text, key))
    }
    return result
  }

  private func address(_ text: String, _ key: String) throws(HomeError) -> HostPort {
    guard let address = HostPort(text) else {
      throw wrong(key, "has “\(printable(text))”, which is not HOST:PORT (an IPv6 address stands in brackets)")
    }
    return address
  }

  func wrong(_ key: String, _ what: String) -> HomeError {
    let line = line(key)
    let place = line == .max ? path : "\(path), line \(line)"
    return HomeError(.configuration, "\(place): “\(printable(key))” \(what).")
  }

  private func line(_ key: String) -> Int {
    TOMLStatement.all(in: Array(text.utf8)).first { $0.key == key }?.line ?? .max
  }
}
