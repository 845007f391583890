/// The error that programs have written, or changed the schema, since the caller looked. A caller that meets it leaves
/// everything unchanged, flushes, and calls again.
package struct PendingWrites: Error, Hashable, CustomStringConvertible {
  package init() {}

  package var description: String { "rows are pending in the database; flush them, and call again" }
}
