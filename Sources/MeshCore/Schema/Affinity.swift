/// SQLite's conversion of a value that is stored in a column or cast. The numbers are those on the wire.
package enum Affinity: UInt8, Hashable, Sendable {
  /// `INTEGER` is like `NUMERIC`, except in a `CAST`.
  case integer = 0
  /// `TEXT` turns numbers into text, and `BLOB` converts nothing. `NUMERIC` turns texts that look like numbers into
  /// integers, or into reals if they have a fraction. `REAL` does the same, and turns integers into reals.
  case text, blob, real, numeric

  /// Determines the affinity by SQLite's rules, in their order. In a STRICT table, `ANY` converts nothing.
  package init(declaredType: String, isStrict: Bool) {
    let type = declaredType.asciiLowercased
    if type.contains("int") {
      self = .integer
    } else if ["char", "clob", "text"].contains(where: type.contains) {
      self = .text
    } else if type.contains("blob") || type.isEmpty || (isStrict && type == "any") {
      self = .blob
    } else if ["real", "floa", "doub"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }

  /// The shortest declared type with this affinity.
  package var typeName: String {
    switch self {
    case .integer: "INTEGER"
    case .text: "TEXT"
    case .blob: "BLOB"
    case .real: "REAL"
    case .numeric: "NUMERIC"
    }
  }
}
