/// The rows of a table that fulfil conditions.
///
/// It is the start of a select, an update or a delete.
public struct Where<From: Table>: SelectStatement, Sendable {
  public typealias QueryValue = ()
  public typealias Joins = ()

  var predicates: [QueryFragment] = []
  var isNone = false

  public func asSelect() -> Select<(), From, ()> {
    var select = Select<(), From, ()>()
    select.clauses.where = predicates
    select.clauses.isNone = isNone
    return select
  }
}
