/// An expression that divides rows into sections, and the order of the sections.
public struct SectionExpression<Name>: Sendable {
  package let expression: QueryFragment
  package let order: QueryFragment

  package init(expression: QueryFragment, order: QueryFragment) {
    self.expression = expression
    self.order = order
  }
}

/// Makes the expression that divides rows into sections. Its closure may contain `if` and `switch`.
///
/// Without an expression, the rows aren't divided.
@resultBuilder
public enum SectionBuilder {
  public static func buildExpression(_ expression: some QueryExpression) -> SectionExpression<String?>? {
    SectionExpression(expression: expression.queryFragment, order: expression.queryFragment)
  }

  public static func buildExpression(_ term: OrderingTerm) -> SectionExpression<String?>? {
    SectionExpression(expression: term.base, order: term.queryFragment)
  }

  public static func buildExpression(_ nothing: Never?) -> SectionExpression<String?>? { nil }

  public static func buildBlock() -> SectionExpression<String?>? { nil }

  public static func buildBlock(_ component: SectionExpression<String?>?) -> SectionExpression<String?>? { component }

  public static func buildOptional(_ component: SectionExpression<String?>??) -> SectionExpression<String?>? {
    component ?? nil
  }

  public static func buildEither(first component: SectionExpression<String?>?) -> SectionExpression<String?>? {
    component
  }

  public static func buildEither(second component: SectionExpression<String?>?) -> SectionExpression<String?>? {
    component
  }
}

extension Select {
  /// The query with the name of the section as its last column, and with the sections in order.
  package func _sectioned(by section: QueryFragment, order: QueryFragment) -> QueryFragment {
    guard !clauses.isNone else { return QueryFragment() }
    var select = self
    if select.clauses.columns.isEmpty { select.clauses.columns = [clauses.selection(From.self)] }
    select.clauses.columns.append(section)
    select.clauses.order.insert(order, at: 0)
    return select.query
  }
}
