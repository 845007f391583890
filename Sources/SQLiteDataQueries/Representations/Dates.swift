public import Foundation

extension Date: QueryBindable {
  @inlinable public static var _isPlaceholder: Bool { true }
  @inlinable public var queryBinding: QueryBinding {
    _hasISO8601Text ? .date(self) : .invalid(DateRangeError(self))
  }
  @inlinable public init(decoder: inout some QueryDecoder) throws {
    guard let value = try decoder.decode(Date.self) else { throw QueryDecodingError.missingRequiredColumn }
    self = value
  }

  /// Whether the date is in the years 0 to 9999. The text of another date would be ordered wrongly, and SQLite's date
  /// functions couldn't read it.
  @inlinable public var _hasISO8601Text: Bool {
    // The last milliseconds are those that aren't rounded up to the year 10000.
    timeIntervalSince1970 >= -62_167_219_200 && timeIntervalSince1970 < 253_402_300_799.9995
  }

  /// The text that stores a date by default, in UTC with milliseconds: `2001-01-01 00:00:00.000`.
  public var iso8601String: String {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    guard milliseconds.magnitude < 1e15 else { return "\(timeIntervalSince1970)" }
    let total = Int64(milliseconds)
    let (days, rest) = total.quotientAndFloorRemainder(by: 86_400_000)
    let (year, month, day) = _civil(days: days)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24)
    func append(_ value: Int64, digits: Int) {
      var divisor: Int64 = 1
      for _ in 1..<digits { divisor *= 10 }
      while divisor > 0 {
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + value / divisor % 10))
        divisor /= 10
      }
    }
    if year < 0 { bytes.append(0x2D) }
    append(year.magnitudeValue, digits: year.magnitudeValue > 9999 ? 5 : 4)
    bytes.append(0x2D)
    append(month, digits: 2)
    bytes.append(0x2D)
    append(day, digits: 2)
    bytes.append(0x20)
    append(rest / 3_600_000, digits: 2)
    bytes.append(0x3A)
    append(rest / 60_000 % 60, digits: 2)
    bytes.append(0x3A)
    append(rest / 1000 % 60, digits: 2)
    bytes.append(0x2E)
    append(rest % 1000, digits: 3)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads a date from ISO 8601 text, with a space or a `T` between day and time.
  ///
  /// The time, its seconds, their fraction and the time zone may be missing. Without a zone it is UTC.
  @inlinable
  public init(iso8601String: String) throws {
    var text = iso8601String
    guard let seconds = text.withUTF8({ Date._parse($0) }) else {
      throw QueryDecodingError.invalidDate(iso8601String)
    }
    self.init(timeIntervalSince1970: seconds)
  }

  /// Reads the seconds since 1970 from ISO 8601 text, or returns nil if the text isn't a date.
  public static func _parse(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
    var reader = _DateReader(text: text)
    return reader.read()
  }
}

/// A date that ISO 8601 text with four digits for the year can't express.
public struct DateRangeError: Error, CustomStringConvertible {
  /// The date in seconds. Foundation can't describe every date of this error.
  public let timeIntervalSince1970: Double

  public init(_ date: Date) { timeIntervalSince1970 = date.timeIntervalSince1970 }

  public var description: String {
    """
    the date \(timeIntervalSince1970) seconds after 1970 isn't in the years 0 to 9999, so it has no text that SQLite can \
    order; to store it as a number, write '@Column(as: Date.JulianDayRepresentation.self)'
    """
  }
}

/// Reads ISO 8601 text from its first code unit to its last.
private struct _DateReader {
  let text: UnsafeBufferPointer<UInt8>
  var position = 0

  init(text: UnsafeBufferPointer<UInt8>) { self.text = text }

  mutating func read() -> Double? {
    guard let year = digits(4), skip(0x2D), let month = digits(2), skip(0x2D), let day = digits(2),
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    let days = Double(_days(year: year, month: month, day: day))
    if position == text.count { return days * 86_400 }
    guard skip(0x20) || skip(0x54), let hour = digits(2), skip(0x3A), let minute = digits(2),
      hour <= 24, minute < 60
    else { return nil }
    var seconds = Double(hour * 3600 + minute * 60)
    if skip(0x3A) {
      guard let second = digits(2), second <= 60 else { return nil }
      seconds += Double(second)
      if skip(0x2E) {
        guard let fraction = fraction() else { return nil }
        seconds += fraction
      }
    }
    guard let zone = zone(), position == text.count else { return nil }
    return days * 86_400 + seconds - zone
  }

  private mutating func zone() -> Double? {
    if position == text.count || skip(0x5A) { return 0 }
    let sign: Double
    if skip(0x2B) { sign = 1 } else if skip(0x2D) { sign = -1 } else { return nil }
    guard let hours = digits(2) else { return nil }
    _ = skip(0x3A)
    let minutes = position == text.count ? 0 : digits(2)
    return minutes.map { sign * Double(hours * 3600 + $0 * 60) }
  }

  private mutating func fraction() -> Double? {
    var value = 0.0
    var scale = 1.0
    let start = position
    while position < text.count, (0x30...0x39).contains(text[position]) {
      value = value * 10 + Double(text[position] - 0x30)
      scale *= 10
      position += 1
    }
    return position == start ? nil : value / scale
  }

  private mutating func digits(_ count: Int) -> Int64? {
    guard position + count <= text.count else { return nil }
    var value: Int64 = 0
    for _ in 0..<count {
      let unit = text[position]
      guard (0x30...0x39).contains(unit) else { return nil }
      value = value * 10 + Int64(unit - 0x30)
      position += 1
    }
    return value
  }

  private mutating func skip(_ unit: UInt8) -> Bool {
    guard position < text.count, text[position] == unit else { return false }
    position += 1
    return true
  }
}

/// Returns the day of a proleptic Gregorian date, counted from 1970-01-01.
private func _days(year: Int64, month: Int64, day: Int64) -> Int64 {
  let y = month <= 2 ? year - 1 : year
  let era = (y >= 0 ? y : y - 399) / 400
  let yearOfEra = y - era * 400
  let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
  return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
}

/// Returns the proleptic Gregorian date of a day, counted from 1970-01-01.
private func _civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let z = days + 719_468
  let era = (z >= 0 ? z : z - 146_096) / 146_097
  let dayOfEra = z - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let monthFromMarch = (5 * dayOfYear + 2) / 153
  let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
}

extension Int64 {
  fileprivate var magnitudeValue: Int64 { self < 0 ? -self : self }

  fileprivate func quotientAndFloorRemainder(by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension Date {
  /// A date stored as the integer number of seconds since 1970-01-01 00:00 UTC.
  public struct UnixTimeRepresentation: QueryBindable, Sendable {
    public typealias QueryOutput = Date
    public let queryOutput: Date
    public init(queryOutput: Date) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding {
      guard let seconds = Int64(exactly: queryOutput.timeIntervalSince1970.rounded(.down)) else {
        return .invalid(QueryDecodingError.integerOverflow)
      }
      return .int(seconds)
    }

    public init(decoder: inout some QueryDecoder) throws {
      queryOutput = Date(timeIntervalSince1970: Double(try Int64(decoder: &decoder)))
    }
  }

  /// A date stored as a Julian day, the number of days since noon on 24 November 4714 BC.
  public struct JulianDayRepresentation: QueryBindable, Sendable {
    public typealias QueryOutput = Date
    public let queryOutput: Date
    public init(queryOutput: Date) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding {
      .double(2_440_587.5 + queryOutput.timeIntervalSince1970 / 86_400)
    }

    public init(decoder: inout some QueryDecoder) throws {
      queryOutput = Date(timeIntervalSince1970: (try Double(decoder: &decoder) - 2_440_587.5) * 86_400)
    }
  }

  /// A date stored as ISO 8601 text, which is also the form of a date without a representation.
  public struct ISO8601Representation: QueryBindable, Sendable {
    public typealias QueryOutput = Date
    public let queryOutput: Date
    public init(queryOutput: Date) { self.queryOutput = queryOutput }

    @inlinable public static var _isPlaceholder: Bool { true }
    public var queryBinding: QueryBinding {
      queryOutput._hasISO8601Text ? .text(queryOutput.iso8601String) : .invalid(DateRangeError(queryOutput))
    }

    public init(decoder: inout some QueryDecoder) throws { queryOutput = try Date(decoder: &decoder) }
  }
}

extension Date? {
  public typealias UnixTimeRepresentation = Date.UnixTimeRepresentation?
  public typealias JulianDayRepresentation = Date.JulianDayRepresentation?
  public typealias ISO8601Representation = Date.ISO8601Representation?
}
