package import MeshControl

extension Int {
  /// `1 row is`, `2 rows are`.
  package func counted(_ one: String, _ many: String) -> String { "\(self) \(self == 1 ? one : many)" }
}

extension DoctorReport {
  /// Of a node that does not open, or does not answer: the reason is the only thing to be known, and it has its way out.
  package init(unopened refusal: Refusal) {
    let name = refusal.code.split(separator: ".").first.map(String.init) ?? "node"
    self.init(checks: [.library, HealthCheck(name, .alarm, refusal.message, wayOut: "Do what the message says.")])
  }
}
