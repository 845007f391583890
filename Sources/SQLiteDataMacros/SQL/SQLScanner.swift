/// Walks over the text of a SQL fragment and its interpolations, and collects what can't be valid SQL.
///
/// The scanner knows strings, quoted names, comments, parentheses and parameters. It knows no grammar, because a fragment
/// may be any part of a statement.
struct SQLScanner {
  /// A fault at an offset of the source, in UTF-8 bytes.
  struct Finding: Equatable {
    var fault: Fault
    var offset: Int
  }

  enum Fault: Equatable {
    /// A quote, bracket or comment that the fragment doesn't close.
    case unclosed(Character)
    case unclosedComment
    case unclosedParenthesis
    case unopenedParenthesis
    /// A value interpolated between quotes.
    case bindInQuotes(Character)
    case bindInComment
    /// A parameter of SQLite's own that no value is bound to.
    case parameter(String)
  }

  /// The SQL that an interpolation inserts into the text.
  enum Interpolation {
    /// A bound value, a column, a statement: complete SQL of its own.
    case expression
    /// `\(raw:)`: any text.
    case text
  }

  private enum State: Equatable {
    case sql
    case quoted(close: Character, open: Character, offset: Int)
    case lineComment
    case blockComment(offset: Int)
  }

  private(set) var findings: [Finding] = []
  private var state = State.sql
  private var parentheses: [Int] = []
  /// The character before the current one, if it is unescaped SQL: tells `a$b` from `$b`.
  private var previous: Character?

  /// Reads a stretch of characters, each with its offset in the source.
  mutating func read(_ text: [(character: Character, offset: Int)]) {
    var index = text.startIndex
    while index < text.endIndex {
      let (character, offset) = text[index]
      let next = index + 1 < text.endIndex ? text[index + 1].character : nil
      index += 1
      switch state {
      case .quoted(let close, _, _):
        if character == close { state = .sql }
      case .lineComment:
        if character.isNewline { state = .sql }
      case .blockComment:
        if character == "*", next == "/" {
          state = .sql
          index += 1
        }
      case .sql:
        if character == "-", next == "-" {
          state = .lineComment
        } else if character == "/", next == "*" {
          state = .blockComment(offset: offset)
          index += 1
        } else {
          readSQL(character, at: offset, next: next)
        }
      }
      previous = character
    }
  }

  private mutating func readSQL(_ character: Character, at offset: Int, next: Character?) {
    switch character {
    case "'", "\"", "`":
      state = .quoted(close: character, open: character, offset: offset)
    case "[":
      state = .quoted(close: "]", open: "[", offset: offset)
    case "(":
      parentheses.append(offset)
    case ")":
      if parentheses.popLast() == nil { findings.append(Finding(fault: .unopenedParenthesis, offset: offset)) }
    case "?":
      findings.append(Finding(fault: .parameter("?"), offset: offset))
    case ":", "@", "$":
      guard let next, next.isNameStart, previous?.isNamePart != true else { return }
      findings.append(Finding(fault: .parameter(String(character)), offset: offset))
    default:
      break
    }
  }

  /// Passes an interpolation that begins at an offset.
  mutating func pass(_ interpolation: Interpolation, at offset: Int) {
    previous = nil
    guard interpolation == .expression else { return }
    switch state {
    case .sql: break
    case .quoted(_, let open, _): findings.append(Finding(fault: .bindInQuotes(open), offset: offset))
    case .lineComment, .blockComment: findings.append(Finding(fault: .bindInComment, offset: offset))
    }
  }

  /// Ends the fragment: what is still open is a finding.
  mutating func finish() {
    switch state {
    case .sql, .lineComment: break
    case .quoted(_, let open, let offset): findings.append(Finding(fault: .unclosed(open), offset: offset))
    case .blockComment(let offset): findings.append(Finding(fault: .unclosedComment, offset: offset))
    }
    findings += parentheses.map { Finding(fault: .unclosedParenthesis, offset: $0) }
  }
}

extension Character {
  fileprivate var isNameStart: Bool { isLetter || self == "_" }
  fileprivate var isNamePart: Bool { isLetter || isNumber || self == "_" || self == "$" }
}
