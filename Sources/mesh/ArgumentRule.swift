import MeshNode

/// The rule that the value of an option breaks. The parser prints it behind the value.
struct ArgumentRule: Error, CustomStringConvertible {
  let description: String

  static func address(_ text: String) throws(ArgumentRule) -> HostPort {
    guard let address = HostPort(text) else {
      throw ArgumentRule(
        description: "an address is HOST:PORT with a port of at most 65535, such as tower.example:7404 or [::1]:7404.")
    }
    return address
  }

  static func number<Number: FixedWidthInteger>(_ text: String) throws(ArgumentRule) -> Number {
    guard let number = Number(text) else { throw ArgumentRule(description: "a whole number is needed, such as 12.") }
    return number
  }

  static func expiry(_ text: String) throws -> Duration {
    let duration = try Duration(text: text)
    guard duration > .zero else { throw ArgumentRule(description: "it must be longer than 0.") }
    return duration
  }
}
