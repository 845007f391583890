import Foundation

/// One line of the result: the node's figure beside the other one.
struct Figure: Encodable {
  let what: String
  /// The node's figure in `unit`.
  let ours: Double
  /// The figure that it is compared with, in the same unit, or nil if only the aim counts.
  var theirs: Double?
  /// The figure of SQLite alone, for the work that the node cannot avoid, in the same unit (see `Floors`).
  var floor: Double?
  let unit: String
  let aim: Aim

  /// The upper limit of the figure.
  enum Aim {
    case ratio(Double)
    case value(Double)
    /// The figure only helps to understand the others.
    case none
  }

  var ratio: Double? { ratio(of: ours) }
  var floorRatio: Double? { floor.flatMap(ratio(of:)) }

  private func ratio(of value: Double) -> Double? { theirs.flatMap { $0 == 0 ? nil : value / $0 } }

  var verdict: String {
    if case .none = aim { return "" }
    return isMet ? "ok" : "short"
  }

  var isMet: Bool {
    switch aim {
    case .ratio(let most): ratio.map { $0 <= most } ?? false
    case .value(let most): ours <= most
    case .none: true
    }
  }

  private enum CodingKeys: String, CodingKey { case what, ours, theirs, floor, unit, ratio, floorRatio, aim, aimOf, ok }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(what, forKey: .what)
    try container.encode(ours, forKey: .ours)
    try container.encode(theirs, forKey: .theirs)
    try container.encode(floor, forKey: .floor)
    try container.encode(unit, forKey: .unit)
    try container.encode(ratio, forKey: .ratio)
    try container.encode(floorRatio, forKey: .floorRatio)
    switch aim {
    case .ratio(let most):
      try container.encode(most, forKey: .aim)
      try container.encode("ratio", forKey: .aimOf)
    case .value(let most):
      try container.encode(most, forKey: .aim)
      try container.encode("ours", forKey: .aimOf)
    case .none: return
    }
    try container.encode(isMet, forKey: .ok)
  }
}

/// Prints figures as they arrive, or all of them at the end as JSON.
struct FigurePrinter {
  let json: Bool
  private var figures: [Figure] = []

  init(json: Bool) {
    self.json = json
    if !json { line("what", "ours", "theirs", "ratio", "floor", "aim", "") }
  }

  mutating func add(_ new: [Figure]) {
    figures += new
    if json { return }
    for figure in new {
      let aim =
        switch figure.aim {
        case .ratio(let most): "<= \(Self.number(most)) x"
        case .value(let most): "<= \(Self.number(most)) \(figure.unit)"
        case .none: "-"
        }
      line(
        figure.what, "\(Self.number(figure.ours)) \(figure.unit)",
        figure.theirs.map { "\(Self.number($0)) \(figure.unit)" } ?? "-",
        ratio(figure.ratio), ratio(figure.floorRatio), aim, figure.verdict)
    }
  }

  func finish() {
    guard json else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    if let data = try? encoder.encode(figures) { print(String(decoding: data, as: UTF8.self)) }
  }

  private func ratio(_ value: Double?) -> String { value.map { "\(Self.number($0)) x" } ?? "-" }

  private func line(_ what: String, _ columns: String...) {
    let widths = [14, 14, 10, 10, 14, 5]
    let padded = zip(columns, widths).map { text, width in
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    Machine.say(what.padding(toLength: 66, withPad: " ", startingAt: 0) + padded.joined(separator: " "))
  }

  private static func number(_ value: Double) -> String {
    switch abs(value) {
    case 100...: String(format: "%.0f", value)
    case 10..<100: String(format: "%.1f", value)
    case 1..<10: String(format: "%.2f", value)
    default: String(format: "%.3g", value)
    }
  }
}

extension [Double] {
  /// Returns the value below which the given part of the values is.
  func quantile(_ part: Double) -> Double {
    let sorted = sorted()
    return sorted.isEmpty ? .nan : sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * part))]
  }

  var median: Double { quantile(0.5) }
}
