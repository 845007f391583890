extension String {
  /// The table's name for a type of this name: lower camel case, in the plural.
  ///
  /// `RemindersList` becomes `remindersLists`, `Category` becomes `categories`, `URLEntry` becomes `urlEntries`.
  var tableName: String {
    lowerCamelCased.pluralized
  }

  private var lowerCamelCased: String {
    let capitals = prefix(while: \.isUppercase)
    // The last capital of a longer run starts the next word, unless the run is the whole name.
    let word = capitals.count > 1 && capitals.count < count ? capitals.dropLast() : capitals
    return word.lowercased() + dropFirst(word.count)
  }

  private var pluralized: String {
    if hasSuffix("y"), let before = dropLast().last, !"aeiou".contains(before) {
      return dropLast() + "ies"
    }
    if ["s", "x", "z", "ch", "sh"].contains(where: hasSuffix) {
      return self + "es"
    }
    return self + "s"
  }

  /// The name without the backticks that make a keyword an identifier.
  var unquoted: String {
    hasPrefix("`") && hasSuffix("`") && count > 2 ? String(dropFirst().dropLast()) : self
  }
}
