/// A piece of SQL text: a word, a quoted name, a string, a number or a sign.
struct SQLPiece: Equatable {
  let range: Range<String.Index>
  /// The text without quotes.
  let text: String
  /// The text in upper case if it may be a keyword, which a quoted name never is.
  let keyword: String?
}

extension String {
  /// The tokens of SQL text, without white space and comments.
  var sqlPieces: [SQLPiece] {
    var tokens: [SQLPiece] = []
    var index = startIndex
    while index < endIndex {
      let rest = self[index...]
      if rest.hasPrefix("--") {
        index = rest.firstIndex(where: \.isNewline) ?? endIndex
      } else if rest.hasPrefix("/*") {
        index = rest.dropFirst(2).firstRange(of: "*/")?.upperBound ?? endIndex
      } else if rest[index].isWhitespace {
        index = rest.index(after: index)
      } else {
        let end = rest.endOfToken
        tokens.append(SQLPiece(self[index..<end]))
        index = end
      }
    }
    return tokens
  }
}

extension SQLPiece {
  fileprivate init(_ text: Substring) {
    range = text.startIndex..<text.endIndex
    switch text.first {
    case "\"", "'", "`":
      let quote = text.prefix(1)
      self.text = String(text.dropFirst().dropLast()).replacing(quote + quote, with: quote)
      keyword = nil
    case "[":
      self.text = String(text.dropFirst().dropLast())
      keyword = nil
    default:
      self.text = String(text)
      keyword = text.uppercased()
    }
  }
}

extension Substring {
  /// The end of the token with which this text begins.
  fileprivate var endOfToken: Index {
    guard let first else { return endIndex }
    if first == "[" { return firstIndex(of: "]").map(index(after:)) ?? endIndex }
    guard "\"'`".contains(first) else {
      guard first.isWordPart else { return index(after: startIndex) }
      let end = firstIndex { !$0.isWordPart } ?? endIndex
      // A text such as `x'00'` is one value, and so is `1e-5`.
      let (word, rest) = (self[..<end].lowercased(), self[end...])
      if word == "x", rest.first == "'" { return rest.endOfToken }
      guard first.isNumber, word.last == "e", rest.first == "-" || rest.first == "+" else { return end }
      return rest.dropFirst().endOfToken
    }
    var index = index(after: startIndex)
    while index < endIndex {
      let next = self.index(after: index)
      if self[index] == first {
        // A quote inside of quotes is written twice.
        guard next < endIndex, self[next] == first else { return next }
        index = self.index(after: next)
      } else {
        index = next
      }
    }
    return endIndex
  }
}

extension Character {
  fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" || self == "$" || self == "." || !isASCII }
}
