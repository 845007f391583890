/// Returns `text` in a form that is safe to show in a terminal, a log or a page. Use it for texts that peers chose.
///
/// Replaces control, bidirectional and other invisible characters, including line breaks, with U+FFFD. Truncates the
/// text to `limit` characters, with an ellipsis at the end.
package func printable(_ text: String, limit: Int = .max) -> String {
  var scalars = String.UnicodeScalarView()
  var changed = false
  for scalar in text.unicodeScalars {
    let visible = isPrintable(scalar)
    changed = changed || !visible
    scalars.append(visible ? scalar : "\u{fffd}")
  }
  let clean = changed ? String(scalars) : text
  return clean.count > limit ? clean.prefix(max(0, limit - 1)) + "…" : clean
}

/// Returns whether a character is visible and doesn't change how its neighbors are shown.
package func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  // Joiners belong to words in several scripts and to composed emoji, and they reorder nothing.
  case .format: scalar == "\u{200c}" || scalar == "\u{200d}"
  case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
  default: true
  }
}
