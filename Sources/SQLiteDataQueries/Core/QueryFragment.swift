/// A piece of SQL together with the values bound to its placeholders.
///
/// A fragment keeps its SQL ready to prepare: every bound value is a `?` in ``sql``, in the order of
/// ``placeholders``. Appending one fragment to another copies text and never parses it.
///
/// ```swift
/// let fragment: QueryFragment = "SELECT * FROM \(quote: "items") WHERE \(quote: "id") = \(bind: 1)"
/// fragment.sql  // SELECT * FROM "items" WHERE "id" = ?
/// ```
public struct QueryFragment: Hashable, Sendable {
  /// A bound value and the position of its `?` in the SQL, counted in UTF-8 code units.
  public struct Placeholder: Hashable, Sendable {
    public var offset: Int
    public var binding: QueryBinding

    @inlinable
    public init(offset: Int, binding: QueryBinding) {
      self.offset = offset
      self.binding = binding
    }
  }

  /// The SQL, with a `?` for each bound value.
  public private(set) var sql: String

  /// The bound values in the order of their `?`.
  public private(set) var placeholders: [Placeholder]

  /// Creates an empty fragment.
  public init() {
    sql = ""
    placeholders = []
  }

  /// Creates a fragment from SQL that binds nothing.
  public init(_ sql: String) {
    self.sql = sql
    placeholders = []
  }

  /// Creates a fragment that binds one value.
  public init(_ binding: QueryBinding) {
    sql = "?"
    placeholders = [Placeholder(offset: 0, binding: binding)]
  }

  /// Creates a fragment that quotes an identifier or a text.
  public init(quote value: String, delimiter: QuoteDelimiter = .identifier) {
    self.init()
    append(quote: value, delimiter: delimiter)
  }

  /// A Boolean value that is true if the fragment holds no SQL.
  public var isEmpty: Bool { sql.isEmpty }

  /// The bound values in the order of their `?`.
  public var bindings: [QueryBinding] { placeholders.map(\.binding) }

  /// Returns the SQL with placeholders of another shape, and the bound values.
  ///
  /// ```swift
  /// ("\(bind: 1) + \(bind: 2)" as QueryFragment).prepare { "$\($0)" }.sql  // $1 + $2
  /// ```
  ///
  /// - Parameter template: Makes the placeholder with the given number. The first is 1.
  public func prepare(_ template: (_ number: Int) -> String) -> (sql: String, bindings: [QueryBinding]) {
    var number = 0
    let text = replacingPlaceholders { _ in
      number += 1
      return template(number)
    }
    return (text, bindings)
  }

  /// Appends SQL that binds nothing.
  public mutating func append(raw text: String) {
    sql += text
  }

  /// Makes room for text that is appended.
  mutating func reserve(_ count: Int) {
    sql.reserveCapacity(sql.utf8.count + count)
  }

  /// Appends another fragment.
  public mutating func append(_ other: QueryFragment) {
    if !other.placeholders.isEmpty {
      let shift = sql.utf8.count
      if placeholders.isEmpty { placeholders.reserveCapacity(other.placeholders.count) }
      for placeholder in other.placeholders {
        placeholders.append(Placeholder(offset: placeholder.offset + shift, binding: placeholder.binding))
      }
    }
    sql += other.sql
  }

  /// Appends a placeholder for a value.
  public mutating func append(_ binding: QueryBinding) {
    placeholders.append(Placeholder(offset: sql.utf8.count, binding: binding))
    sql += "?"
  }

  /// Appends the values of a row's writable columns in parentheses.
  mutating func append<Row: Table>(row: Row) {
    let count = placeholders.count
    if count == 0 { placeholders.reserveCapacity(Row.TableColumns.writableColumns.count) }
    var encoder = RowEncoder(appendingTo: &placeholders, firstOffset: sql.utf8.count + 1)
    row._encode(into: &encoder)
    encoder.finish(&placeholders)
    if encoder.isPlain {
      sql += Self.placeholderRow(of: placeholders.count - count)
    } else {
      placeholders.removeSubrange(count...)
      var list = RowEncoder(.list)
      row._encode(into: &list)
      sql += "("
      append(list.fragment)
      sql += ")"
    }
  }

  /// Returns placeholders in parentheses.
  static func placeholderRow(of count: Int) -> String {
    count < placeholderRows.count ? placeholderRows[count] : makePlaceholderRow(count)
  }

  private static let placeholderRows = (0..<64).map(makePlaceholderRow)

  private static func makePlaceholderRow(_ count: Int) -> String {
    "(" + Array(repeating: "?", count: count).joined(separator: ", ") + ")"
  }

  /// Creates a column's name with the name of its table.
  init(qualifier: String, name: String) {
    let quote = QuoteDelimiter.identifier.codeUnit
    if qualifier.utf8.contains(quote) || name.utf8.contains(quote) {
      self.init(quote: qualifier)
      append(raw: ".")
      append(quote: name)
      return
    }
    let count = qualifier.utf8.count + name.utf8.count + 5
    let sql = String(unsafeUninitializedCapacity: count) { buffer in
      var next = 0
      func append(_ unit: UInt8) {
        buffer.initializeElement(at: next, to: unit)
        next += 1
      }
      append(quote)
      for unit in qualifier.utf8 { append(unit) }
      append(quote)
      append(UInt8(ascii: "."))
      append(quote)
      for unit in name.utf8 { append(unit) }
      append(quote)
      return next
    }
    self.init(sql)
  }

  /// Appends a quoted identifier or text.
  public mutating func append(quote value: String, delimiter: QuoteDelimiter = .identifier) {
    let mark = delimiter.rawValue
    sql += mark
    if value.utf8.contains(delimiter.codeUnit) {
      for character in value.unicodeScalars {
        sql.unicodeScalars.append(character)
        if character == Unicode.Scalar(delimiter.codeUnit) { sql.unicodeScalars.append(character) }
      }
    } else {
      sql += value
    }
    sql += mark
  }

  public static func += (lhs: inout QueryFragment, rhs: QueryFragment) {
    lhs.append(rhs)
  }

  /// Notes the binding of a `?` whose text is appended by itself.
  mutating func append(placeholder binding: QueryBinding, at offset: Int) {
    placeholders.append(Placeholder(offset: offset, binding: binding))
  }

  /// Returns the SQL with each placeholder replaced by a text.
  func replacingPlaceholders(_ text: (QueryBinding) -> String) -> String {
    guard !placeholders.isEmpty else { return sql }
    var result = ""
    result.reserveCapacity(sql.utf8.count + placeholders.count * 8)
    var start = sql.utf8.startIndex
    for placeholder in placeholders {
      let mark = sql.utf8.index(sql.utf8.startIndex, offsetBy: placeholder.offset)
      result += sql[start..<mark]
      result += text(placeholder.binding)
      start = sql.utf8.index(after: mark)
    }
    result += sql[start...]
    return result
  }

  /// Returns the fragment with two spaces in front of each line.
  ///
  /// Lines inside of quoted text stay as they are.
  func indented() -> QueryFragment {
    var text: [UInt8] = [0x20, 0x20]
    text.reserveCapacity(sql.utf8.count + 64)
    var shifted = placeholders
    var next = 0
    var offset = 0
    var quote: UInt8?
    for unit in sql.utf8 {
      if next < shifted.count, placeholders[next].offset == offset {
        shifted[next].offset = text.count
        next += 1
      }
      text.append(unit)
      if let open = quote {
        if unit == open { quote = nil }
      } else if unit == 0x27 || unit == 0x22 {
        quote = unit
      } else if unit == 0x0A {
        text.append(0x20)
        text.append(0x20)
      }
      offset += 1
    }
    var result = QueryFragment(String(decoding: text, as: UTF8.self))
    result.placeholders = shifted
    return result
  }
}

/// The character that encloses a quoted identifier or text.
public enum QuoteDelimiter: String, Sendable {
  /// Quotes the name of a table, a column or another identifier: `"items"`.
  case identifier = "\""
  /// Quotes a text: `'items'`.
  case text = "'"

  var codeUnit: UInt8 { self == .identifier ? 0x22 : 0x27 }
}

extension QueryFragment: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) {
    self.init(value)
  }

  public init(stringInterpolation: StringInterpolation) {
    self = stringInterpolation.fragment
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    var fragment = QueryFragment()

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) {
      fragment.append(raw: literal)
    }

    /// Interpolates another fragment.
    public mutating func appendInterpolation(_ fragment: QueryFragment) {
      self.fragment.append(fragment)
    }

    /// Interpolates an expression. A Swift value is bound, never spliced into the SQL.
    public mutating func appendInterpolation(_ expression: some QueryExpression) {
      fragment.append(expression.queryFragment)
    }

    /// Interpolates the name of a table.
    public mutating func appendInterpolation<T: Table>(_ table: T.Type) {
      fragment.append(table._fromFragment)
    }

    /// Interpolates a quoted identifier or text.
    public mutating func appendInterpolation(quote value: String, delimiter: QuoteDelimiter = .identifier) {
      fragment.append(quote: value, delimiter: delimiter)
    }

    /// Interpolates SQL as it is. Use it only with text that your program wrote itself.
    public mutating func appendInterpolation(raw sql: String) {
      fragment.append(raw: sql)
    }

    /// Interpolates a value as SQL as it is. Use it only with values that your program made itself.
    public mutating func appendInterpolation(raw value: some LosslessStringConvertible) {
      fragment.append(raw: value.description)
    }

    /// Interpolates a bound value.
    public mutating func appendInterpolation(_ binding: QueryBinding) {
      fragment.append(binding)
    }

    /// Interpolates a bound value.
    public mutating func appendInterpolation(bind value: some QueryBindable) {
      fragment.append(value.queryFragment)
    }

    /// Interpolates a bound value in another representation.
    public mutating func appendInterpolation<Value: QueryBindable>(bind value: Value.QueryOutput, as type: Value.Type) {
      fragment.append(Value(queryOutput: value).queryFragment)
    }
  }
}

extension QueryFragment: CustomDebugStringConvertible {
  /// The SQL with each bound value written as a literal. Use it to read a query, not to run it.
  public var debugDescription: String {
    replacingPlaceholders(\.debugDescription)
  }
}

extension Sequence<QueryFragment> {
  /// Returns the fragments one after another with a separator between them.
  public func joined(separator: String = "") -> QueryFragment {
    var result = QueryFragment()
    result.reserve(64)
    var isFirst = true
    for fragment in self {
      if isFirst { isFirst = false } else { result.append(raw: separator) }
      result.append(fragment)
    }
    return result
  }
}
