/// The text form of invites, which people copy. It is a prefix, followed by base32 of a version, the content and a
/// CRC-32. Reading also accepts blanks around the text and upper case.
enum InviteText {
  static func encode(_ kind: InviteKind, _ write: (inout ByteWriter) -> Void) -> String {
    var writer = ByteWriter()
    writer.byte(1)
    write(&writer)
    writer.uint32(checksum(writer.bytes))
    return kind.prefix + Base32.encode(writer.bytes)
  }

  /// Decodes a text of the wanted kind. The closure `read` reads the content to its end.
  static func decode<T>(
    _ text: String, _ wanted: InviteKind, _ read: (inout ByteReader) throws(FormatError) -> T
  ) throws(InviteFault) -> T {
    let text = trimmed(text).asciiLowercased
    guard text.hasPrefix(wanted.prefix) else {
      if let kind = kind(ofDisplayed: text) { throw .otherKind(kind, wanted: wanted) }
      throw .notAnInvite(wanted: wanted)
    }
    guard let bytes = Base32.decode(text.dropFirst(wanted.prefix.count)), bytes.count > 4 else { throw .damaged }
    let content = Array(bytes.dropLast(4))
    var writer = ByteWriter()
    writer.uint32(checksum(content))
    guard writer.bytes == Array(bytes.suffix(4)) else { throw .damaged }
    guard content.first == 1 else { throw .version(content.first ?? 0) }
    do {
      var reader = ByteReader(content[1...])
      let content = try read(&reader)
      try reader.end()
      return content
    } catch {
      throw .malformed(wanted)
    }
  }

  /// Returns the addresses without those that are too many or too long.
  static func bounded(_ addresses: [String]) -> [String] {
    Array(addresses.filter { $0.utf8.count <= Limits.name }.prefix(Limits.inviteAddresses))
  }

  static func addresses(_ reader: inout ByteReader) throws(FormatError) -> [String] {
    try reader.list(Limits.inviteAddresses, "addresses") { (reader: inout ByteReader) throws(FormatError) in
      try reader.text(Limits.name, "address")
    }
  }
}

/// The kind of an invite.
package enum InviteKind: Sendable {
  /// An invite that admits a device into an account.
  case device
  /// An invite that admits an account into a share.
  case share

  /// The beginning of an invite's text, in lower case: `mesh-device-` or `mesh-share-`.
  package var prefix: String {
    switch self {
    case .device: "mesh-device-"
    case .share: "mesh-share-"
    }
  }

  fileprivate var name: String {
    switch self {
    case .device: "an invite for a device"
    case .share: "an invite to a share"
    }
  }

  fileprivate var verb: String {
    switch self {
    case .device: "mesh device invite"
    case .share: "mesh share invite"
    }
  }
}

/// The reason why a text is not the wanted invite. Each description says what to do.
package enum InviteFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// The text doesn't begin like any invite or id of mesh.
  case notAnInvite(wanted: InviteKind)
  /// A text of another kind, named in words.
  case otherKind(String, wanted: InviteKind)
  /// The text behind the prefix isn't base32, is too short, or has a wrong checksum.
  case damaged
  /// The invite has this version, which is not 1.
  case version(UInt8)
  /// The checksum is right, and the content breaks the format.
  case malformed(InviteKind)

  package var description: String {
    switch self {
    case .notAnInvite(let wanted): "this is not an invite: one begins with “\(wanted.prefix)” and is a single line"
    case .otherKind(let kind, let wanted):
      "this is \(kind), not \(wanted.name): “\(wanted.verb)” prints one, which begins with “\(wanted.prefix)”"
    case .damaged:
      "the invite is damaged: a character was lost or changed on the way, or the line was cut; copy the whole line again"
    case .version(let version): "the invite is of version \(version), which this program does not know: update it"
    case .malformed(let wanted):
      "the invite's content is not what such an invite holds: ask for a new one with “\(wanted.verb)”"
    }
  }
}
