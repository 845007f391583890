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
    guard titled.isEmpty else {
      let ids = titled.map(\.description).sorted().joined(separator: ", ")
      throw Refusal(
        code: "zone.ambiguous",
        message: "\(printable(text)): \(titled.count) zones have that name. Give the id of one: \(ids).")
    }
    let why = ZoneID.advice(onShort: text) ?? "there is no zone with that id or name"
    throw Refusal(code: "zone.unknown", message: "\(printable(text)): \(why). See mesh zones.")
  }
}

extension Identifier {
  /// The number of characters after the prefix from which a beginning can stand for an id. Shorter beginnings soon
  /// become ambiguous.
  static var shortestBeginning: Int { 4 }

  /// Returns how to abbreviate an id, for the refusal of a text that is too short for that. Returns nil for other texts.
  static func advice(onShort text: String) -> String? {
    let beginning = canonical(text)
    guard beginning.hasPrefix("\(Kind.prefix)-"), isShort(beginning) else { return nil }
    return "to abbreviate an id, give at least \(shortestBeginning) characters after “\(Kind.prefix)-”"
  }

  private static func isShort(_ beginning: String) -> Bool {
    beginning.utf8.count < Kind.prefix.utf8.count + 1 + shortestBeginning
  }

  /// Returns the id in `all` that a text names, by its displayed id or by an unambiguous beginning. Returns nil if it
  /// names none.
  ///
  /// - Throws: A `Refusal` (`id.ambiguous`) that names the ids with the same beginning.
  static func named(_ text: String, among all: some Sequence<Self>) throws(Refusal) -> Self? {
    let beginning = canonical(text)
    guard beginning.hasPrefix("\(Kind.prefix)-"), !isShort(beginning) else { return nil }
    let alike = Set(all).filter { $0.description.hasPrefix(beginning) }
    guard alike.count > 1 else { return alike.first }
    let names = alike.map(\.description).sorted().joined(separator: ", ")
    throw Refusal(code: "id.ambiguous", message: "\(printable(text)) is the beginning of \(names): give more of it.")
  }
}
