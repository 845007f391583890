/// The encoding in which ids and invites are shown: lower-case base32 (RFC 4648 alphabet, no padding). A checksum is
/// added by the caller.
package enum Base32 {
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 5 {
        bits -= 5
        text.append(alphabet[Int(buffer >> UInt32(bits) & 31)])
      }
    }
    if bits > 0 { text.append(alphabet[Int(buffer << UInt32(5 - bits) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a text. Accepts upper case. Returns nil if there is any other character, or if leftover bits are not zero.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var buffer: UInt32 = 0
    var bits = 0
    for character in text.utf8 {
      let digit: UInt8
      switch character {
      case 0x61...0x7a: digit = character - 0x61
      case 0x41...0x5a: digit = character - 0x41
      case 0x32...0x37: digit = character - 0x32 + 26
      default: return nil
      }
      buffer = (buffer << 5 | UInt32(digit)) & 0xfff
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    guard bits < 5, buffer & ((1 << UInt32(bits)) - 1) == 0 else { return nil }
    return bytes
  }
}

/// Returns the CRC-32 (IEEE 802.3, reflected). It detects typing errors in texts that people copy, and protects against
/// nothing else.
package func checksum(_ bytes: [UInt8]) -> UInt32 {
  var crc: UInt32 = 0xffff_ffff
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
  }
  return ~crc
}

/// The part of an id that is shown and that people tell each other: its first 104 bits. Nobody can make another id that
/// begins with them.
package struct DisplayedID<Kind: IdentifierKind>: Hashable, Sendable, CustomStringConvertible {
  static var size: Int { 13 }

  private let head: [UInt8]

  /// Shortens an id.
  package init(_ id: Identifier<Kind>) { head = Array(id.bytes.prefix(Self.size)) }

  /// Reads a displayed id. Returns nil if the text is not a valid one.
  package init?(_ text: String) {
    guard Identifier<Kind>.fault(inDisplayed: text) == nil,
      let bytes = Base32.decode(Identifier<Kind>.canonical(text).dropFirst(Kind.prefix.count + 1))
    else { return nil }
    head = Array(bytes.prefix(Self.size))
  }

  /// Returns whether the id begins with the shown bits.
  package func names(_ id: Identifier<Kind>) -> Bool { self == DisplayedID(id) }

  /// The kind, as in `device-`, and 24 characters for these bits and a 16-bit checksum.
  package var description: String {
    let check = checksum(Array(Kind.prefix.utf8) + head)
    return Kind.prefix + "-"
      + Base32.encode(head + [UInt8(truncatingIfNeeded: check >> 8), UInt8(truncatingIfNeeded: check)])
  }

  func write(to writer: inout ByteWriter) { writer.raw(head) }

  init(from reader: inout ByteReader) throws(FormatError) { head = try reader.raw(Self.size) }
}

extension Identifier: CustomStringConvertible {
  package var description: String { DisplayedID(self).description }

  /// Returns a displayed id in the form in which it is compared: without the blanks around it, and in lower case.
  /// People may paste it with either.
  package static func canonical(_ text: String) -> String { trimmed(text).asciiLowercased }

  /// Returns the fault in a text that should be a displayed id, or nil if its form and checksum are right. Blanks
  /// around it and upper case are no fault (see `canonical`).
  package static func fault(inDisplayed text: String) -> String? {
    let text = canonical(text)
    guard text.hasPrefix(Kind.prefix + "-") else {
      if let other = kind(ofDisplayed: text) { return "it is \(other), and “\(Kind.prefix)-…” is asked for" }
      return "it does not begin with “\(Kind.prefix)-”"
    }
    guard let decoded = Base32.decode(text.dropFirst(Kind.prefix.count + 1)), decoded.count == 15 else {
      return "an id has 24 letters a–z or digits 2–7 after “\(Kind.prefix)-”"
    }
    let head = Array(decoded.prefix(DisplayedID<Kind>.size))
    let check = checksum(Array(Kind.prefix.utf8) + head)
    guard decoded[13] == UInt8(truncatingIfNeeded: check >> 8), decoded[14] == UInt8(truncatingIfNeeded: check) else {
      return "its checksum does not match: a character was mistyped"
    }
    return nil
  }
}

/// Returns the apparent kind of a text by its prefix, in words, or nil if no prefix of mesh matches.
func kind(ofDisplayed text: String) -> String? {
  let kinds: [(prefix: String, name: String)] = [
    ("mesh-share-", "an invite to a share"), ("mesh-device-", "an invite for a device"),
    ("mesh-recovery-", "an account's recovery key"), ("account-", "the id of an account"),
    ("device-", "the id of a device"), ("zone-", "the id of a zone"), ("changeset-", "the id of a change set"),
    ("epoch-", "the id of an epoch"), ("control-", "the id of a control record"),
  ]
  return kinds.first { text.hasPrefix($0.prefix) }?.name
}

/// Returns the text without spaces, tabs and line breaks at both ends.
func trimmed(_ text: String) -> String {
  let blanks: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
  return String(text.drop(while: blanks.contains).reversed().drop(while: blanks.contains).reversed())
}

extension Author: CustomStringConvertible {
  /// The device's text, a slash and the instance.
  package var description: String { "\(device)/\(instance)" }
}

extension InstanceID: CustomStringConvertible {
  /// The number in lower-case hexadecimal, without leading zeros.
  package var description: String { String(value, radix: 16) }
}
