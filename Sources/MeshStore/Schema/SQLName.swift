extension String {
  /// As an identifier in SQL text: the only way in which names of tables, columns and triggers get there.
  var quotedName: String { "\"" + replacingEach("\"") + "\"" }

  /// As a text literal in SQL text.
  var quotedText: String { "'" + replacingEach("'") + "'" }

  private func replacingEach(_ quote: Character) -> String {
    split(separator: quote, omittingEmptySubsequences: false).joined(separator: "\(quote)\(quote)")
  }
}
