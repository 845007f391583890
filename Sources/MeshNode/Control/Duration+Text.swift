import MeshControl

/// The reason that a text is not a duration, with an example of a valid one.
public struct DurationTextError: Error, Equatable, CustomStringConvertible {
  /// The kinds of these errors.
  public enum Code: Sendable {
    /// The text is not a whole number with a unit.
    case malformed
    /// The duration is longer than `Duration.longest`.
    case tooLong
  }

  /// The kind of the error, for programs.
  public let code: Code

  /// Creates the error, whose description gives an example of a valid text.
  public init(code: Code) { self.code = code }

  public var description: String {
    switch code {
    case .malformed: "a duration is a whole number and its unit: 90s, 15m, 2h or 7d."
    case .tooLong: "the longest duration is 365d."
    }
  }
}

extension Duration {
  /// Parses a duration: a whole number and one unit, such as `90s`, `15m`, `2h` or `7d`.
  public init(text: String) throws(DurationTextError) {
    let seconds: Int64? =
      switch text.last {
      case "s": 1
      case "m": 60
      case "h": 3_600
      case "d": 86_400
      default: nil
      }
    let digits = text.dropLast()
    guard let seconds, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits) else {
      throw DurationTextError(code: .malformed)
    }
    let (product, overflow) = count.multipliedReportingOverflow(by: seconds)
    guard !overflow, .seconds(product) <= Self.longest else { throw DurationTextError(code: .tooLong) }
    self = .seconds(product)
  }
}
