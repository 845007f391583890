/// Sizes in bytes as a person writes them: a whole number and one of the units `B`, `KiB`, `MiB`, `GiB` and `TiB`.
enum ByteSize {
  private static let units: [(name: String, bytes: Int)] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
  ]

  /// Returns the number of bytes, or nil if the text is malformed or the number is too large for an `Int`. A number
  /// without a unit means bytes.
  static func bytes(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }
    guard let number = Int(digits) else { return nil }
    guard let factor = unit.isEmpty ? 1 : units.first(where: { $0.name == unit })?.bytes else { return nil }
    let (product, isTooMuch) = number.multipliedReportingOverflow(by: factor)
    return isTooMuch ? nil : product
  }

  /// Returns the text of a size, with the greatest unit that leaves a whole number.
  static func text(_ bytes: Int) -> String {
    guard bytes > 0, let unit = units.first(where: { bytes % $0.bytes == 0 }) else { return "0" }
    return "\(bytes / unit.bytes)\(unit.name)"
  }
}
