import MeshControl
import MeshCore
import Testing

@testable import MeshNode

/// Ids that are given by their beginning.
@Suite struct AbbreviationTests {
  private static func zone(_ beginning: [UInt8]) throws -> ZoneID {
    try #require(ZoneID(beginning + [UInt8](repeating: 7, count: 32 - beginning.count)))
  }

  /// Three zones: `zone-aeba…` twice, and `zone-76…`.
  private static let zones = Result { try [zone([1, 2, 3]), zone([1, 2, 4]), zone([255])] }

  private func beginning(_ zone: ZoneID, _ characters: Int) -> String { String("\(zone)".prefix(5 + characters)) }

  @Test("a unique prefix stands for its id, in upper or lower case", arguments: [4, 5, 24])
  func aBeginningThatOneHasStandsForIt(characters: Int) throws {
    let zones = try Self.zones.get()
    #expect(try ZoneID.named(beginning(zones[2], characters), among: zones) == zones[2])
    #expect(try ZoneID.named(beginning(zones[2], characters).uppercased() + "\n", among: zones) == zones[2])
  }

  @Test("a whole id stands for itself, even if it is listed twice") func theWholeIdIsThatOfOne() throws {
    let zones = try Self.zones.get()
    for zone in zones { #expect(try ZoneID.named("\(zone)", among: zones + zones) == zone) }
  }

  @Test("the error about an ambiguous prefix names both ids that have it")
  func aBeginningThatTwoHaveNamesBoth() throws {
    let zones = try Self.zones.get()
    let refusal = #expect(throws: Refusal.self) { try ZoneID.named(beginning(zones[0], 4), among: zones) }
    #expect(refusal?.code == "id.ambiguous")
    for zone in zones[..<2] { #expect(refusal?.message.contains("\(zone)") == true) }
    #expect(refusal?.message.contains("\(zones[2])") == false)
  }

  @Test("a text that is too short or of another kind stands for no id")
  func whatIsTooShortOrOfAnotherKindNamesNothing() throws {
    let zones = try Self.zones.get()
    for text in ["", "zone-", beginning(zones[2], 3), "zonefall", "account-" + beginning(zones[2], 9).dropFirst(5)] {
      #expect(try ZoneID.named(text, among: zones) == nil, "\(text)")
    }
  }

  @Test("only a text that is too short is answered with the number of characters that an abbreviation needs")
  func adviceOnShortTexts() throws {
    let zone = try Self.zones.get()[2]
    for text in ["zone-", beginning(zone, 3).uppercased()] {
      #expect(ZoneID.advice(onShort: text)?.contains("at least 4 characters after “zone-”") == true, "\(text)")
    }
    for text in ["", "Groceries", beginning(zone, 4), "account-a"] { #expect(ZoneID.advice(onShort: text) == nil) }
  }
}
