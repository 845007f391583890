/// `text` as it may reach a terminal, a log or a page: control, bidi and other invisible characters, line breaks included,
/// become U+FFFD, and what exceeds `limit` characters is cut with an ellipsis. For texts that peers chose.
public func printable(_ text: String, limit: Int = .max) -> String {
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

/// Whether a character shows itself and changes nothing about how its neighbours are shown.
public func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  // Joiners belong to words in several scripts and to composed emoji, and reorder nothing.
  case .format: scalar == "\u{200c}" || scalar == "\u{200d}"
  case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
  default: true
  }
}
