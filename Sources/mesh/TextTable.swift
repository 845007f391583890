import MeshCore

/// Rows under a header, with columns aligned to the left. Every cell is safe for a terminal.
struct TextTable {
  private var rows: [[String]]

  init(_ header: String...) { rows = [header] }

  mutating func add(_ cells: String...) {
    rows.append(
      cells.enumerated().map { printable($1, limit: $0 == rows[0].count - 1 ? Self.lastLimit : Self.cellLimit) })
  }

  /// The text, without a line break at the end, and without spaces at the ends of lines.
  var text: String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      let padded = zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
      var line = padded.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }.joined(separator: "\n")
  }

  /// The maximum number of characters in a cell. A displayed id fits, and a long text doesn't displace the other
  /// columns.
  static let cellLimit = 80
  /// The limit of the last column, which displaces no other. A message with its advice fits.
  private static let lastLimit = 1_000
}
