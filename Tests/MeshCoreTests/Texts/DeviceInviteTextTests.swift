import MeshCore
import Testing

@Suite struct DeviceInviteTextTests {
  private static let invite: DeviceInviteContent = {
    var generator = Generator(seed: 95)
    return DeviceInviteContent(
      seed: generator.bytes(32), account: generator.identifier(), expires: 1_800_000_000_000,
      addresses: ["192.0.2.7:7404", "desk.example:7404"])
  }()

  private func fault(_ text: String) -> InviteFault? {
    do throws(InviteFault) {
      _ = try DeviceInviteContent(text: text)
      return nil
    } catch { return error }
  }

  @Test("a device invite with one wrong character is rejected") func everySingleWrongCharacterIsNoticed() {
    let text = Array(Self.invite.text)
    for index in text.indices {
      for character in "abcdefghijklmnopqrstuvwxyz234567" where character != text[index] {
        var wrong = text
        wrong[index] = character
        #expect(fault(String(wrong)) != nil, "\(index) \(character)")
      }
    }
  }

  @Test("a device invite with a missing, doubled or swapped character is rejected")
  func aMissingDoubledOrSwappedCharacterIsNoticed() {
    let text = Array(Self.invite.text)
    for index in text.indices.dropLast() {
      var (less, more, swapped) = (text, text, text)
      less.remove(at: index)
      more.insert(text[index], at: index)
      swapped.swapAt(index, index + 1)
      #expect(fault(String(less)) != nil)
      #expect(fault(String(more)) != nil)
      if swapped != text { #expect(fault(String(swapped)) != nil) }
    }
  }

  @Test(
    "a device invite is accepted in upper case and with blanks around it",
    arguments: [" %", "%\n", "\t%\r\n", "\n\n%  "])
  func blanksAroundAndUpperCaseAreTolerated(form: String) throws {
    for variant in [Self.invite.text, Self.invite.text.uppercased()] {
      let pasted = form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: variant)
      #expect(try DeviceInviteContent(text: pasted) == Self.invite)
    }
  }

  @Test("an error names the kind of text that was pasted instead of a device invite") func otherTextsOfAMeshAreNamed() {
    #expect(fault("mesh-share-abcd") == .otherKind("an invite to a share", wanted: .device))
    #expect(fault("MESH-RECOVERY-abcd") == .otherKind("an account's recovery key", wanted: .device))
    #expect(fault(Self.invite.account.description) == .otherKind("the id of an account", wanted: .device))
    #expect(fault("hello") == .notAnInvite(wanted: .device))
    #expect(fault("") == .notAnInvite(wanted: .device))
  }

  @Test("the errors for a later version, malformed content and damaged text differ")
  func aLaterVersionAndWrongContentAreToldApart() {
    func text(_ content: [UInt8]) -> String {
      var writer = ByteWriter()
      writer.raw(content)
      writer.uint32(checksum(content))
      return InviteKind.device.prefix + Base32.encode(writer.bytes)
    }
    #expect(fault(text([2] + fill(0, 90))) == .version(2))
    #expect(fault(text([1] + fill(0, 3))) == .malformed(.device))
    #expect(fault(text([1] + fill(0, 64) + [0, 0, 0])) == .malformed(.device))
    #expect(fault(text([1] + fill(0, 64) + [0, 0])) == nil)
    #expect(fault(InviteKind.device.prefix) == .damaged)
    #expect(fault(InviteKind.device.prefix + "aaaa") == .damaged)
  }

  @Test("a device invite leaves out addresses that exceed its limits")
  func addressesBeyondTheLimitsAreLeftOutSoThatTheTextCanBeRead() throws {
    let long = String(repeating: "x", count: Limits.name + 1)
    let many = [long] + (0..<20).map { "host-\($0):7404" }
    let invite = DeviceInviteContent(seed: fill(1), account: Self.invite.account, expires: 1, addresses: many)
    #expect(invite.addresses == (0..<Limits.inviteAddresses).map { "host-\($0):7404" })
    #expect(try DeviceInviteContent(text: invite.text) == invite)
  }
}
