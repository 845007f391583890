import Foundation

/// The name of a rule that compares texts.
public struct Collation: Sendable, RawRepresentable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Compares the bytes of the texts.
  public static let binary = Collation(rawValue: "BINARY")
  /// Takes the ASCII letters A–Z and a–z as the same.
  public static let nocase = Collation(rawValue: "NOCASE")
  /// Ignores spaces at the end.
  public static let rtrim = Collation(rawValue: "RTRIM")
}

extension QueryExpression where QueryValue: _TextValue {
  /// Compares and orders the text by another rule.
  ///
  /// ```swift
  /// Reminder.order { $0.title.collate(.nocase) }
  /// // … ORDER BY "reminders"."title" COLLATE "NOCASE"
  /// ```
  public func collate(_ collation: Collation) -> SQLQueryExpression<QueryValue> {
    SQLQueryExpression("\(queryFragment) COLLATE \(quote: collation.rawValue)")
  }

  /// A condition that holds if the text matches a pattern, in which `%` and `_` stand for any text and any character.
  ///
  /// ```swift
  /// Reminder.where { $0.title.like("%milk%") }
  /// // … WHERE ("reminders"."title") LIKE ('%milk%')
  /// ```
  public func like(_ pattern: some StringProtocol) -> SQLQueryExpression<Bool> {
    SQLQueryExpression("(\(queryFragment)) LIKE (\(bind: String(pattern)))")
  }

  /// A condition that holds if the text matches a pattern that has an escape character.
  ///
  /// ```swift
  /// Reminder.where { $0.title.like("100!%", escape: "!") }
  /// // … WHERE ("reminders"."title") LIKE ('100!%') ESCAPE '!'
  /// ```
  public func like(_ pattern: some StringProtocol, escape: Character) -> SQLQueryExpression<Bool> {
    SQLQueryExpression(
      "(\(queryFragment)) LIKE (\(bind: String(pattern))) ESCAPE \(quote: String(escape), delimiter: .text)")
  }

  /// A condition that holds if the text matches a pattern of file names: `*`, `?` and `[…]`.
  ///
  /// ```swift
  /// Reminder.where { $0.title.glob("*milk*") }
  /// // … WHERE ("reminders"."title") GLOB ('*milk*')
  /// ```
  public func glob(_ pattern: some StringProtocol) -> SQLQueryExpression<Bool> {
    SQLQueryExpression("(\(queryFragment)) GLOB (\(bind: String(pattern)))")
  }

  /// A condition that holds if the full-text index of the column matches a search.
  ///
  /// ```swift
  /// ReminderText.where { $0.title.match("milk") }
  /// // … WHERE ("reminderTexts"."title" MATCH 'milk')
  /// ```
  public func match(_ pattern: some StringProtocol) -> SQLQueryExpression<Bool> {
    SQLQueryExpression("(\(queryFragment) MATCH \(bind: String(pattern)))")
  }

  /// A condition that holds if the text contains another one.
  ///
  /// ```swift
  /// Reminder.where { $0.title.contains("milk") }
  /// // … WHERE ("reminders"."title") LIKE ('%milk%')
  /// ```
  public func contains(_ other: some StringProtocol) -> SQLQueryExpression<Bool> {
    like("%\(other)%")
  }

  /// A condition that holds if the text begins with another one.
  ///
  /// ```swift
  /// Reminder.where { $0.title.hasPrefix("Get") }
  /// // … WHERE ("reminders"."title") LIKE ('Get%')
  /// ```
  public func hasPrefix(_ other: some StringProtocol) -> SQLQueryExpression<Bool> {
    like("\(other)%")
  }

  /// A condition that holds if the text ends with another one.
  ///
  /// ```swift
  /// Reminder.where { $0.title.hasSuffix("milk") }
  /// // … WHERE ("reminders"."title") LIKE ('%milk')
  /// ```
  public func hasSuffix(_ other: some StringProtocol) -> SQLQueryExpression<Bool> {
    like("%\(other)")
  }

  /// The text with ASCII letters in lower case.
  ///
  /// ```swift
  /// Reminder.select { $0.title.lower() }
  /// // SELECT lower("reminders"."title") …
  /// ```
  public func lower() -> SQLQueryExpression<QueryValue._Text> { _call("lower") }

  /// The text with ASCII letters in upper case.
  ///
  /// ```swift
  /// Reminder.select { $0.title.upper() }
  /// // SELECT upper("reminders"."title") …
  /// ```
  public func upper() -> SQLQueryExpression<QueryValue._Text> { _call("upper") }

  /// The text without given characters, or spaces, at both ends.
  ///
  /// ```swift
  /// Reminder.select { $0.title.trim() }
  /// // SELECT trim("reminders"."title") …
  /// ```
  public func trim(
    _ characters: (some QueryExpression<String>)? = String?.none
  ) -> SQLQueryExpression<QueryValue._Text> {
    _call("trim", characters?.queryFragment)
  }

  /// The text without given characters, or spaces, at its start.
  ///
  /// ```swift
  /// Reminder.select { $0.title.ltrim() }
  /// // SELECT ltrim("reminders"."title") …
  /// ```
  public func ltrim(
    _ characters: (some QueryExpression<String>)? = String?.none
  ) -> SQLQueryExpression<QueryValue._Text> {
    _call("ltrim", characters?.queryFragment)
  }

  /// The text without given characters, or spaces, at its end.
  ///
  /// ```swift
  /// Reminder.select { $0.title.rtrim() }
  /// // SELECT rtrim("reminders"."title") …
  /// ```
  public func rtrim(
    _ characters: (some QueryExpression<String>)? = String?.none
  ) -> SQLQueryExpression<QueryValue._Text> {
    _call("rtrim", characters?.queryFragment)
  }

  /// The text with each occurrence of a text replaced by another one.
  ///
  /// ```swift
  /// Reminder.select { $0.title.replace("milk", "cheese") }
  /// // SELECT replace("reminders"."title", 'milk', 'cheese') …
  /// ```
  public func replace(
    _ other: some QueryExpression<String>, _ replacement: some QueryExpression<String>
  ) -> SQLQueryExpression<QueryValue._Text> {
    _call("replace", other.queryFragment, replacement.queryFragment)
  }

  /// The part of the text from a position on. The first character is at position 1.
  ///
  /// ```swift
  /// Reminder.select { $0.title.substr(1, 3) }
  /// // SELECT substr("reminders"."title", 1, 3) …
  /// ```
  public func substr(
    _ offset: some QueryExpression<Int>, _ length: (some QueryExpression<Int>)? = Int?.none
  ) -> SQLQueryExpression<QueryValue._Text> {
    _call("substr", offset.queryFragment, length?.queryFragment)
  }

  /// The position of a text inside of this one, or 0.
  ///
  /// ```swift
  /// Reminder.select { $0.title.instr("milk") }
  /// // SELECT instr("reminders"."title", 'milk') …
  /// ```
  public func instr(_ occurrence: some QueryExpression<String>) -> SQLQueryExpression<QueryValue._Integer> {
    _call("instr", occurrence.queryFragment)
  }

  /// The code point of the first character.
  ///
  /// ```swift
  /// Reminder.select { $0.title.unicode() }
  /// // SELECT unicode("reminders"."title") …
  /// ```
  public func unicode() -> SQLQueryExpression<Int?> { _call("unicode") }

  /// The bytes that the hexadecimal digits of the text stand for, or NULL. It needs SQLite 3.41.
  ///
  /// ```swift
  /// Reminder.select { $0.notes.unhex("-") }
  /// // SELECT unhex("reminders"."notes", '-') …
  /// ```
  ///
  /// - Parameter characters: The characters to skip.
  public func unhex(
    _ characters: (some QueryExpression<String>)? = String?.none
  ) -> SQLQueryExpression<[UInt8]?> {
    _call("unhex", characters?.queryFragment)
  }
}

/// A text, an identifier that is a text, or an optional of one.
public protocol _TextValue: QueryBindable {
  associatedtype _Integer: QueryBindable
  /// The type of a text that is made from the value.
  associatedtype _Text: _TextValue
}

extension String: _TextValue {
  public typealias _Integer = Int
  public typealias _Text = String
}

extension Optional: _TextValue where Wrapped: _TextValue {
  public typealias _Integer = Wrapped._Integer?
  public typealias _Text = Wrapped._Text?
}

extension Tagged: _TextValue where RawValue: _TextValue {
  public typealias _Integer = RawValue._Integer
  public typealias _Text = RawValue._Text
}

extension QueryExpression {
  /// Makes a call of an SQL function whose first argument is this expression.
  func _call<Value>(
    _ name: String, _ arguments: QueryFragment?..., as type: Value.Type = Value.self
  ) -> SQLQueryExpression<Value> {
    var fragment = QueryFragment(name)
    fragment.append(raw: "(")
    fragment.append(queryFragment)
    for case let argument? in arguments {
      fragment.append(raw: ", ")
      fragment.append(argument)
    }
    fragment.append(raw: ")")
    return SQLQueryExpression(fragment)
  }
}
