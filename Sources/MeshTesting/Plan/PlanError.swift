/// The error that a plan can't be read. It names the key, the rule that it breaks, and the way out.
package struct PlanError: Error, CustomStringConvertible, Sendable {
  package let description: String

  init(_ key: String, _ rule: String, _ wayOut: String) {
    description = key.isEmpty ? "the plan \(rule): \(wayOut)" : "“\(key)” \(rule): \(wayOut)"
  }
}
