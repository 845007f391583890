import MeshControl
import MeshCore

extension Identifier {
  /// Characters behind the prefix from which on a beginning stands for an id. Fewer are soon another's as well.
  static var shortestBeginning: Int { 4 }

  /// The one of `all` that a text names: by its displayed id, or by a beginning of that which no other has. Nil where it names none.
  ///
  /// - Throws: A `Refusal` (`id.ambiguous`) that names those that begin so.
  static func named(_ text: String, among all: some Sequence<Self>) throws(Refusal) -> Self? {
    let beginning = canonical(text)
    guard beginning.hasPrefix("\(Kind.prefix)-"),
      beginning.utf8.count >= Kind.prefix.utf8.count + 1 + shortestBeginning
    else { return nil }
    let alike = Set(all).filter { $0.description.hasPrefix(beginning) }
    guard alike.count > 1 else { return alike.first }
    let names = alike.map(\.description).sorted().joined(separator: ", ")
    throw Refusal(code: "id.ambiguous", message: "\(printable(text)) is the beginning of \(names): give more of it.")
  }
}
