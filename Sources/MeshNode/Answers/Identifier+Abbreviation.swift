import MeshControl
import MeshCore
import MeshReplication

extension NodePart {
  /// Returns the zone that a text names: by its id, by an unambiguous beginning of it, or by its name in `mesh zones`.
  func zone(named text: String) throws -> ZoneID {
    if let zone = try ZoneID.named(text, among: replica.zoneIDs) { return zone }
    let alike = replica.zoneIDs.filter { replica.title($0) == text }
    // Shares that have ended have no claim to a title.
    let open = alike.filter { replica.reasonOutside($0) == nil }
    let titled = open.isEmpty ? alike : open
    if let only = titled.first, titled.count == 1 { return only }
    throw Refusal(
      code: "zone.unknown",
      message: titled.isEmpty
        ? "no zone is called \(printable(text)): mesh zones lists them."
        : "\(titled.count) zones are called \(printable(text)): mesh zones lists their ids.")
  }
}

extension Identifier {
  /// The number of characters after the prefix from which a beginning can stand for an id. Shorter beginnings soon
  /// become ambiguous.
  static var shortestBeginning: Int { 4 }

  /// Returns the id in `all` that a text names, by its displayed id or by an unambiguous beginning. Returns nil if it
  /// names none.
  ///
  /// - Throws: A `Refusal` (`id.ambiguous`) that names the ids with the same beginning.
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
