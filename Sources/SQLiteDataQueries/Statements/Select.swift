/// A SELECT statement.
@dynamicMemberLookup
public struct Select<Columns, From: Table, Joins>: SelectStatement, Sendable {
  public typealias QueryValue = Columns

  var clauses = SelectClauses()

  public func asSelect() -> Self { self }

  public var query: QueryFragment {
    guard !clauses.isNone else { return QueryFragment() }
    var fragment: QueryFragment = clauses.isDistinct ? "SELECT DISTINCT " : "SELECT "
    fragment.reserve(512)
    fragment.append(clauses.columns.isEmpty ? clauses.selection(From.self) : _joined(clauses.columns, ", "))
    fragment.append(raw: "\nFROM ")
    fragment.append(From._sourceFragment)
    for join in clauses.joins {
      fragment.append(raw: "\n")
      fragment.append(join.sql)
    }
    fragment.append(conditions: clauses.where, after: "\nWHERE ")
    if !clauses.group.isEmpty {
      fragment.append(raw: "\nGROUP BY ")
      fragment.append(_joined(clauses.group, ", "))
    }
    fragment.append(conditions: clauses.having, after: "\nHAVING ")
    if !clauses.order.isEmpty {
      fragment.append(raw: "\nORDER BY ")
      fragment.append(_joined(clauses.order, ", "))
    }
    if let limit = clauses.limit {
      fragment.append(raw: "\nLIMIT ")
      fragment.append(limit)
      if let offset = clauses.offset {
        fragment.append(raw: " OFFSET ")
        fragment.append(offset)
      }
    }
    return fragment
  }
}

/// The clauses of a SELECT, without the types of its columns and tables.
struct SelectClauses: Sendable {
  struct Join: Sendable {
    var sql: QueryFragment
    /// The columns of the joined table.
    var selection: QueryFragment
  }

  var isNone = false
  var isDistinct = false
  var columns: [QueryFragment] = []
  var joins: [Join] = []
  var `where`: [QueryFragment] = []
  var group: [QueryFragment] = []
  var having: [QueryFragment] = []
  var order: [QueryFragment] = []
  var limit: QueryFragment?
  var offset: QueryFragment?

  /// The columns of all tables, which a query without a selection returns.
  func selection<From: Table>(_ from: From.Type) -> QueryFragment {
    var fragment = From.TableColumns._selection
    for join in joins {
      fragment.append(raw: ", ")
      fragment.append(join.selection)
    }
    return fragment
  }
}

func _joined(_ fragments: [QueryFragment], _ separator: String) -> QueryFragment {
  fragments.count == 1 ? fragments[0] : fragments.joined(separator: separator)
}

extension QueryFragment {
  /// Appends conditions that all have to hold.
  mutating func append(conditions: [QueryFragment], after keyword: String) {
    guard let first = conditions.first else { return }
    append(raw: keyword)
    guard conditions.count > 1 else { return append(first) }
    for (index, condition) in conditions.enumerated() {
      append(raw: index == 0 ? "(" : " AND (")
      append(condition)
      append(raw: ")")
    }
  }
}
