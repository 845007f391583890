import MeshCore
import Testing

@Suite struct DisplayedTextTests {
  private static let device: DeviceID = {
    var generator = Generator(seed: 91)
    return generator.identifier()
  }()

  @Test("the displayed text of a zone's id has a fixed length and no fault") func anIdsOwnTextHasNoFault() {
    var generator = Generator(seed: 92)
    for _ in 0..<200 {
      let zone: ZoneID = generator.identifier()
      #expect(ZoneID.fault(inDisplayed: zone.description) == nil)
      #expect(zone.description.utf8.count == "zone-".utf8.count + 24)
    }
  }

  /// The checksum is linear: what is found in one text of a length is found in every one.
  @Test("an id with one wrong character is rejected") func everySingleWrongCharacterOfAnIdIsNoticed() {
    let text = Array(Self.device.description)
    var tried = 0
    for index in text.indices {
      for character in "abcdefghijklmnopqrstuvwxyz234567-01 89é" where character != text[index] {
        var wrong = text
        wrong[index] = character
        // A blank at an end is a missing character, which the length shows.
        #expect(DeviceID.fault(inDisplayed: String(wrong)) != nil, "\(String(wrong))")
        tried += 1
      }
    }
    #expect(tried == text.count * 38)
  }

  @Test("an id with a missing or doubled character is rejected") func aMissingOrDoubledCharacterIsNoticed() {
    let text = Array(Self.device.description)
    for index in text.indices {
      var (less, more) = (text, text)
      less.remove(at: index)
      more.insert(text[index], at: index)
      #expect(DeviceID.fault(inDisplayed: String(less)) != nil)
      #expect(DeviceID.fault(inDisplayed: String(more)) != nil)
    }
  }

  @Test("an id is accepted in upper case and with blanks around it", arguments: [" %", "%\n", "\t%\r\n", "\n\n%  "])
  func blanksAroundAndUpperCaseAreNoFault(form: String) {
    let text = Self.device.description
    for variant in [text, text.uppercased()] {
      let pasted = form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: variant)
      #expect(DeviceID.fault(inDisplayed: pasted) == nil)
      #expect(DeviceID.canonical(pasted) == text)
    }
  }

  @Test("an error names the kind of id that was given and the kind expected") func anIdOfAnotherKindIsNamed() throws {
    var generator = Generator(seed: 93)
    let zone: ZoneID = generator.identifier()
    let fault = try #require(DeviceID.fault(inDisplayed: zone.description))
    #expect(fault.contains("zone") && fault.contains("device"))
    let invite = try #require(DeviceID.fault(inDisplayed: generator.deviceInvite().text))
    #expect(invite.contains("an invite for a device"))
    #expect(DeviceID.fault(inDisplayed: "desk") != nil)
    #expect(DeviceID.fault(inDisplayed: "") != nil)
  }

  @Test("ids of different kinds with the same bytes have different checksums")
  func twoKindsOfIdWithTheSameBytesHaveDifferentChecksums() throws {
    let zone = try #require(ZoneID(Self.device.bytes))
    let renamed = "zone-" + Self.device.description.dropFirst("device-".count)
    #expect(zone.description != renamed && ZoneID.fault(inDisplayed: renamed) != nil)
  }

  @Test("base32 decodes what it encodes, also in upper case, and rejects malformed text")
  func base32IsReadAsWrittenAndOnlyThat() {
    var generator = Generator(seed: 94)
    for _ in 0..<500 {
      let bytes = generator.bytes(generator.below(40))
      let text = Base32.encode(bytes)
      #expect(Base32.decode(text) == bytes)
      #expect(Base32.decode(text.uppercased()) == bytes)
    }
    // RFC 4648, section 10.
    #expect(Base32.encode(Array("foobar".utf8)) == "mzxw6ytboi")
    for wrong in ["a", "abc", "abcdef", "ab1", "a b", "ab=", "ab\n", "ah"] { #expect(Base32.decode(wrong) == nil) }
  }

  @Test("the checksum of an id is CRC-32") func theChecksumIsCRC32() {
    #expect(checksum(Array("123456789".utf8)) == 0xcbf4_3926)
  }

  @Test(
    "an instance is shown in hexadecimal, alone and with its author",
    arguments: [(0, "0"), (0xab, "ab"), (.max, "ffffffffffffffff")] as [(UInt64, String)])
  func anInstanceIsShownInHexadecimalWhereverItIsShown(value: UInt64, text: String) throws {
    #expect("\(InstanceID(value))" == text)
    let device = try #require(DeviceID([UInt8](repeating: 1, count: 32)))
    #expect("\(Author(device: device, instance: InstanceID(value)))" == "\(device)/\(text)")
  }
}
