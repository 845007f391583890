import Foundation
package import MeshControl

extension Int {
  /// Returns the number with its noun, such as `1 row is` or `2 rows are`.
  package func counted(_ one: String, _ many: String) -> String { "\(self) \(self == 1 ? one : many)" }
}

extension [HealthCheck] {
  /// Returns the checks, or the one that says that all is well if there are none.
  func or(_ name: String, _ what: String, figures: [String: Int] = [:]) -> [HealthCheck] {
    isEmpty ? [HealthCheck(name, .ok, what, figures: figures)] : self
  }
}

extension DoctorReport {
  /// Creates the report for a node that doesn't open or answer. The reason is the only known fact, and it includes the
  /// advice.
  package init(unopened refusal: Refusal) {
    let name = refusal.code.split(separator: ".").first.map(String.init) ?? "node"
    // The first sentence is the reason, and the others are the advice.
    let end = refusal.message.range(of: ". ")
    let what = end.map { String(refusal.message[..<$0.lowerBound]) + "." } ?? refusal.message
    let advice = end.map { String(refusal.message[$0.upperBound...]) }
    self.init(checks: [
      .library, HealthCheck(name, .alarm, what, wayOut: advice ?? "Fix what it names, and run mesh doctor again."),
    ])
  }
}
