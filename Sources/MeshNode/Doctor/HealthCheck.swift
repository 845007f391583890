import Foundation
package import MeshControl

extension Int {
  /// Returns the number with its noun, such as `1 row is` or `2 rows are`.
  package func counted(_ one: String, _ many: String) -> String { "\(self) \(self == 1 ? one : many)" }

  /// Returns a number of bytes for people, with about 3 significant digits.
  package var asBytes: String {
    guard self >= 1_000 else { return counted("byte", "bytes") }
    var (value, unit) = (Double(self) / 1_000, 0)
    let units = ["kB", "MB", "GB"]
    while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
    let tenths = Int((value * 10).rounded())
    return value < 9.95 ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
  }
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
