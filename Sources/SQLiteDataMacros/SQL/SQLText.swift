import SwiftSyntax

extension StringLiteralExprSyntax {
  /// Scans the literal as SQL.
  ///
  /// Offsets of the findings are absolute positions in the file that the literal stands in.
  var scanned: [SQLScanner.Finding] {
    var scanner = SQLScanner()
    for segment in segments {
      switch segment {
      case .stringSegment(let segment):
        scanner.read(segment.content.characters(pounds: openingPounds?.text.count ?? 0))
      case .expressionSegment(let segment):
        scanner.pass(
          segment.expressions.first?.label?.text == "raw" ? .text : .expression,
          at: segment.positionAfterSkippingLeadingTrivia.utf8Offset)
      }
    }
    scanner.finish()
    return scanner.findings
  }
}

extension TokenSyntax {
  /// The characters that the compiler makes of a segment's source, each with its place.
  fileprivate func characters(pounds: Int) -> [(character: Character, offset: Int)] {
    let escape = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: pounds)
    var result: [(character: Character, offset: Int)] = []
    var offset = positionAfterSkippingLeadingTrivia.utf8Offset
    var rest = Substring(text)
    while let character = rest.first {
      let place = offset
      var length = 1
      var value: Character? = character
      if rest.utf8.starts(with: escape) {
        let escaped = rest.utf8.dropFirst(escape.count)
        length = escape.count + 1
        value = Self.unescaped(escaped.first)
        if escaped.starts(with: "u{".utf8), let close = rest.firstIndex(of: "}") {
          length = rest.distance(from: rest.startIndex, to: close) + 1
          value = UInt32(
            rest[..<close].utf8.dropFirst(escape.count + 2).reduce(into: "") {
              $0.unicodeScalars.append(Unicode.Scalar($1))
            }, radix: 16
          ).flatMap(Unicode.Scalar.init).map(Character.init)
        }
      }
      if let value { result.append((value, place)) }
      let taken = rest.prefix(length)
      offset += taken.utf8.count
      rest = rest.dropFirst(length)
    }
    return result
  }

  private static func unescaped(_ byte: UInt8?) -> Character? {
    switch byte {
    case UInt8(ascii: "n"): "\n"
    case UInt8(ascii: "r"): "\r"
    case UInt8(ascii: "t"): "\t"
    case UInt8(ascii: "0"): "\0"
    case let byte?: byte == UInt8(ascii: "\n") ? nil : Character(Unicode.Scalar(byte))
    case nil: nil
    }
  }
}
