public import GRDB
import GRDBSQLite
public import SQLiteDataQueries

/// The rows that a statement fetched.
public struct FetchedRows<Element: Sendable>: Sendable {
  @usableFromInline
  var rows: [Element]
  /// The sections of the rows, from the first to the last. Nil if the statement has none.
  @usableFromInline
  var sections: [Section]?
  /// A hash of everything that SQLite returned, if the rows themselves can't be compared.
  @usableFromInline
  var fingerprint: Int?

  @usableFromInline
  struct Section: Hashable, Sendable {
    @usableFromInline
    var name: String?
    @usableFromInline
    var range: Range<Int>

    @usableFromInline
    init(name: String?, range: Range<Int>) {
      self.name = name
      self.range = range
    }
  }

  @usableFromInline
  init(rows: [Element], sections: [Section]? = nil, fingerprint: Int? = nil) {
    self.rows = rows
    self.sections = sections
    self.fingerprint = fingerprint
  }
}

extension FetchedRows: ComparableFetch {
  func isSame(as other: Any) -> Bool {
    guard let other = other as? FetchedRows, sections == other.sections else { return false }
    if let fingerprint, let otherFingerprint = other.fingerprint { return fingerprint == otherFingerprint }
    return ((rows as Any) as? any Equatable)?.isEqual(to: other.rows) ?? false
  }
}

/// A request for the result of one statement. Equal statements make equal requests.
///
/// It is `@unchecked Sendable`, because the closure holds only a query. The closure is created in generic code that
/// knows the types of the columns.
public struct StatementRequest<Value>: FetchKeyRequest, @unchecked Sendable {
  let query: QueryFragment
  /// The result type, which distinguishes statements with the same SQL and different results.
  let type: ObjectIdentifier
  let run: (Database) throws -> Value

  @usableFromInline
  init<QueryValue>(_ query: QueryFragment, _ type: QueryValue.Type, run: @escaping (Database) throws -> Value) {
    self.query = query
    self.type = ObjectIdentifier(type)
    self.run = run
  }

  public func fetch(_ db: Database) throws -> Value { try run(db) }

  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.type == rhs.type && lhs.query == rhs.query
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(query) }
}

extension StatementRequest {
  /// Returns a request for all rows of a query.
  @inlinable
  static func rows<Element, QueryValue>(
    _ query: QueryFragment, _ type: QueryValue.Type,
    row: @escaping (inout SQLiteQueryDecoder) throws -> Element
  ) -> Self where Value == FetchedRows<Element> {
    let isComparable = Element.self is any Equatable.Type
    return Self(query, type) { db in
      var rows: [Element] = []
      var fingerprint = isComparable ? nil : Hasher()
      try db._forEachRow(of: query) { decoder in
        rows.append(try row(&decoder))
        if fingerprint != nil { decoder._hash(into: &fingerprint) }
      }
      return FetchedRows(rows: rows, fingerprint: fingerprint?.finalize())
    }
  }
}

extension SQLiteQueryDecoder {
  /// Adds the values of the whole row to a hash.
  @usableFromInline
  func _hash(into hasher: inout Hasher?) {
    for index in 0..<sqlite3_column_count(statement) {
      let type = sqlite3_column_type(statement, index)
      hasher?.combine(type)
      switch type {
      case SQLITE_INTEGER: hasher?.combine(sqlite3_column_int64(statement, index))
      case SQLITE_FLOAT: hasher?.combine(sqlite3_column_double(statement, index))
      case SQLITE_NULL: break
      default: hasher?.combine(bytes: bytes(index))
      }
    }
  }
}
