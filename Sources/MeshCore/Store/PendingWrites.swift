/// Programs have written, or changed the schema, since the caller looked: what was asked for is done once that is dealt with. Whoever
/// meets it leaves everything as it was, flushes, and calls again.
public struct PendingWrites: Error, Hashable, CustomStringConvertible {
  public init() {}

  public var description: String { "rows are pending in the database; flush them, and call again" }
}
