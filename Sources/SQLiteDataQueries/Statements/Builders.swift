/// Collects the expressions of a clause. Its closure may contain `if`, `switch` and loops.
///
/// `Clause` is `Bool` for conditions and `()` for lists of expressions.
@resultBuilder
public enum QueryFragmentBuilder<Clause> {
  public static func buildBlock(_ components: [QueryFragment]...) -> [QueryFragment] {
    components.count == 1 ? components[0] : components.flatMap { $0 }
  }

  public static func buildOptional(_ component: [QueryFragment]?) -> [QueryFragment] { component ?? [] }

  public static func buildEither(first component: [QueryFragment]) -> [QueryFragment] { component }

  public static func buildEither(second component: [QueryFragment]) -> [QueryFragment] { component }

  public static func buildArray(_ components: [[QueryFragment]]) -> [QueryFragment] { components.flatMap { $0 } }

  public static func buildLimitedAvailability(_ component: [QueryFragment]) -> [QueryFragment] { component }
}

extension QueryFragmentBuilder<Bool> {
  public static func buildExpression(_ expression: some QueryExpression<Bool>) -> [QueryFragment] {
    [expression.queryFragment]
  }

  @_disfavoredOverload
  public static func buildExpression(_ expression: some QueryExpression<Bool?>) -> [QueryFragment] {
    [expression.queryFragment]
  }

  public static func buildExpression(_ expression: Bool) -> [QueryFragment] { [expression.queryFragment] }
}

extension QueryFragmentBuilder<()> {
  public static func buildExpression(_ expression: some QueryExpression) -> [QueryFragment] {
    [expression.queryFragment]
  }

  public static func buildExpression<each Expression: QueryExpression>(
    _ expression: (repeat each Expression)
  ) -> [QueryFragment] {
    _fragments(repeat each expression)
  }
}

/// Returns the SQL of each expression.
func _fragments<each Expression: QueryExpression>(_ expression: repeat each Expression) -> [QueryFragment] {
  var fragments: [QueryFragment] = []
  for item in repeat each expression { fragments.append(item.queryFragment) }
  return fragments
}
