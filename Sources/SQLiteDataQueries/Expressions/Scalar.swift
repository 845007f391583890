extension QueryExpression where QueryValue: QueryDecodable {
  /// The number of characters of a text, or of bytes of a BLOB.
  ///
  /// ```swift
  /// Reminder.select { $0.title.length() }
  /// // SELECT length("reminders"."title") …
  /// ```
  public func length() -> SQLQueryExpression<Int> { _call("length") }

  /// The number of characters of a text that may be NULL.
  ///
  /// ```swift
  /// Reminder.select { $0.notes.length() }
  /// // SELECT length("reminders"."notes") …
  /// ```
  public func length<Value>() -> SQLQueryExpression<Int?> where QueryValue == Value? { _call("length") }

  /// The bytes as hexadecimal digits.
  ///
  /// ```swift
  /// Reminder.select { $0.title.hex() }
  /// // SELECT hex("reminders"."title") …
  /// ```
  public func hex() -> SQLQueryExpression<String> { _call("hex") }

  /// The number of bytes of the value in the encoding of the database. It needs SQLite 3.43.
  ///
  /// ```swift
  /// Reminder.select { $0.title.octetLength() }
  /// // SELECT octet_length("reminders"."title") …
  /// ```
  public func octetLength() -> SQLQueryExpression<Int> { _call("octet_length") }

  /// The value as an SQL literal.
  ///
  /// ```swift
  /// Reminder.select { $0.title.quote() }
  /// // SELECT quote("reminders"."title") …
  /// ```
  public func quote() -> SQLQueryExpression<String> { _call("quote") }

  /// The name of the value's storage class.
  ///
  /// ```swift
  /// Reminder.select { $0.title.typeof() }
  /// // SELECT typeof("reminders"."title") …
  /// ```
  public func typeof() -> SQLQueryExpression<String> { _call("typeof") }

  /// The number without its sign.
  ///
  /// ```swift
  /// Reminder.select { $0.id.abs() }
  /// // SELECT abs("reminders"."id") …
  /// ```
  public func abs() -> SQLQueryExpression<QueryValue> where QueryValue: _NumericValue { _call("abs") }

  /// The sign of the number: -1, 0 or 1.
  ///
  /// ```swift
  /// Reminder.select { $0.id.sign() }
  /// // SELECT sign("reminders"."id") …
  /// ```
  public func sign() -> SQLQueryExpression<QueryValue> where QueryValue: _NumericValue { _call("sign") }

  /// The number, rounded to a number of decimal places.
  ///
  /// ```swift
  /// Reminder.select { $0.id.avg().round(2) }
  /// // SELECT round(avg("reminders"."id"), 2) …
  /// ```
  public func round(
    _ precision: (some QueryExpression<Int>)? = Int?.none
  ) -> SQLQueryExpression<QueryValue> where QueryValue: _NumericValue {
    _call("round", precision?.queryFragment)
  }

  /// Tells SQLite that the condition nearly always holds.
  ///
  /// ```swift
  /// Reminder.where { $0.isCompleted.likely() }
  /// // … WHERE likely("reminders"."isCompleted")
  /// ```
  public func likely() -> SQLQueryExpression<QueryValue> { _call("likely") }

  /// Tells SQLite that the condition nearly never holds.
  ///
  /// ```swift
  /// Reminder.where { $0.isCompleted.unlikely() }
  /// // … WHERE unlikely("reminders"."isCompleted")
  /// ```
  public func unlikely() -> SQLQueryExpression<QueryValue> { _call("unlikely") }

  /// Tells SQLite how often the condition holds.
  ///
  /// ```swift
  /// Reminder.where { $0.isCompleted.likelihood(0.75) }
  /// // … WHERE likelihood("reminders"."isCompleted", 0.75)
  /// ```
  public func likelihood(_ probability: Double) -> SQLQueryExpression<QueryValue> {
    // SQLite takes the probability only as a literal.
    _call("likelihood", QueryFragment(probability.description))
  }

  /// NULL if both expressions are equal, else this one.
  ///
  /// ```swift
  /// Reminder.select { $0.title.nullif("") }
  /// // SELECT nullif("reminders"."title", '') …
  /// ```
  public func nullif(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue._Optionalized> {
    _call("nullif", other.queryFragment)
  }

  /// Converts the value to another type.
  ///
  /// ```swift
  /// Reminder.select { $0.id.cast(as: String.self) }
  /// // SELECT CAST("reminders"."id" AS TEXT) …
  /// ```
  public func cast<Other: QueryBindable>(as type: Other.Type = Other.self) -> SQLQueryExpression<Other> {
    SQLQueryExpression("CAST(\(queryFragment) AS \(raw: SQLiteTypeAffinity.of(type).rawValue))")
  }

  /// An expression that is made from this one if it isn't NULL, and NULL otherwise.
  ///
  /// ```swift
  /// Reminder.select { $0.priority.map { $0.cast(as: String.self) } }
  /// // SELECT CASE WHEN ("reminders"."priority") IS NOT (NULL) THEN CAST("reminders"."priority" AS TEXT) END …
  /// ```
  public func map<Wrapped: QueryDecodable, Value: QueryRepresentable>(
    _ transform: (SQLQueryExpression<Wrapped>) -> some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Wrapped? {
    SQLQueryExpression(
      "CASE WHEN (\(queryFragment)) IS NOT (NULL) THEN \(transform(SQLQueryExpression(queryFragment))) END")
  }

  /// An expression that may be NULL itself and is made from this one if it isn't NULL.
  public func flatMap<Wrapped: QueryDecodable, Value: QueryRepresentable>(
    _ transform: (SQLQueryExpression<Wrapped>) -> some QueryExpression<Value?>
  ) -> SQLQueryExpression<Value?> where QueryValue == Wrapped? {
    SQLQueryExpression(
      "CASE WHEN (\(queryFragment)) IS NOT (NULL) THEN \(transform(SQLQueryExpression(queryFragment))) END")
  }

  /// The expression as one that may be NULL.
  public func `asOptional`() -> SQLQueryExpression<QueryValue._Optionalized> {
    SQLQueryExpression(queryFragment)
  }
}

extension QueryExpression where QueryValue: BinaryInteger & QueryDecodable {
  /// As many random bytes as the number says.
  ///
  /// ```swift
  /// Reminder.select { $0.id.randomblob() }
  /// // SELECT randomblob("reminders"."id") …
  /// ```
  public func randomblob() -> SQLQueryExpression<[UInt8]> { _call("randomblob") }

  /// As many zero bytes as the number says.
  ///
  /// ```swift
  /// Reminder.select { $0.id.zeroblob() }
  /// // SELECT zeroblob("reminders"."id") …
  /// ```
  public func zeroblob() -> SQLQueryExpression<[UInt8]> { _call("zeroblob") }
}

extension QueryExpression where Self == SQLQueryExpression<Int> {
  /// A random integer, another one for each row.
  ///
  /// ```swift
  /// Reminder.order { _ in .random() }.limit(3)
  /// // SELECT …
  /// // FROM "reminders"
  /// // ORDER BY random()
  /// // LIMIT 3
  /// ```
  public static func random() -> Self { SQLQueryExpression("random()") }
}

/// The type that SQLite converts a value to.
public struct SQLiteTypeAffinity: RawRepresentable, Hashable, Sendable {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let blob = Self(rawValue: "BLOB")
  public static let integer = Self(rawValue: "INTEGER")
  public static let numeric = Self(rawValue: "NUMERIC")
  public static let real = Self(rawValue: "REAL")
  public static let text = Self(rawValue: "TEXT")

  /// The type of the values of a Swift type.
  static func of(_ type: (some QueryBindable).Type) -> Self {
    (type as? any SQLiteType.Type)?.typeAffinity ?? .text
  }
}

/// A type that an expression can be converted to with ``QueryExpression/cast(as:)``.
public protocol SQLiteType: QueryBindable {
  static var typeAffinity: SQLiteTypeAffinity { get }
}

extension SQLiteType where Self: BinaryInteger {
  public static var typeAffinity: SQLiteTypeAffinity { .integer }
}

extension SQLiteType where Self: BinaryFloatingPoint {
  public static var typeAffinity: SQLiteTypeAffinity { .real }
}

extension Int: SQLiteType {}
extension Int8: SQLiteType {}
extension Int16: SQLiteType {}
extension Int32: SQLiteType {}
extension Int64: SQLiteType {}
extension UInt8: SQLiteType {}
extension UInt16: SQLiteType {}
extension UInt32: SQLiteType {}
extension UInt64: SQLiteType {}
extension Double: SQLiteType {}
extension Float: SQLiteType {}
extension Bool: SQLiteType { public static var typeAffinity: SQLiteTypeAffinity { .integer } }
extension String: SQLiteType { public static var typeAffinity: SQLiteTypeAffinity { .text } }
extension [UInt8]: SQLiteType { public static var typeAffinity: SQLiteTypeAffinity { .blob } }
extension Optional: SQLiteType where Wrapped: SQLiteType {
  public static var typeAffinity: SQLiteTypeAffinity { Wrapped.typeAffinity }
}
