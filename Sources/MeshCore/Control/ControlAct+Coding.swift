/// An encoded act is a tag, a length and the content.
extension ControlAct {
  private enum Tag: UInt8 {
    case genesis = 1
    case epoch, cut, title, fork, end
    case shareGenesis, invite, revokeInvite, participant, admission, leave, stop, excess
    /// A cut that carries the authority of the key that signed it.
    case authorizedCut
  }

  func write(to writer: inout ByteWriter) {
    var inner = ByteWriter()
    writer.byte(writeContent(to: &inner))
    writer.sized(inner.bytes)
  }

  /// Writes the content of the act, and returns its tag.
  private func writeContent(to inner: inout ByteWriter) -> UInt8 {
    switch self {
    case .genesis(let account, let nonce):
      account.write(to: &inner)
      inner.raw(nonce)
      return Tag.genesis.rawValue
    case .shareGenesis(let account, let nonce, let root):
      account.write(to: &inner)
      inner.raw(nonce)
      inner.text(root.table)
      root.key.write(to: &inner)
      return Tag.shareGenesis.rawValue
    case .epoch(let commitment):
      inner.raw(commitment)
      return Tag.epoch.rawValue
    case .cut(let cut):
      cut.write(to: &inner)
      return cut.isOfGenesis ? Tag.cut.rawValue : Tag.authorizedCut.rawValue
    case .title(let text, let time):
      inner.uint64(time.value)
      inner.text(text)
      return Tag.title.rawValue
    case .fork(let proof):
      proof.write(to: &inner)
      return Tag.fork.rawValue
    case .end(let instance, let number):
      inner.uint64(instance.value)
      inner.varint(number)
      return Tag.end.rawValue
    case .invite(let terms):
      terms.write(to: &inner)
      return Tag.invite.rawValue
    case .revokeInvite(let invite, let standing):
      invite.write(to: &inner)
      inner.list(standing) { $1.write(to: &$0) }
      return Tag.revokeInvite.rawValue
    case .participant(let account, let permission, let invite, let cuts):
      account.write(to: &inner)
      inner.byte(permission?.rawValue ?? 0)
      inner.byte(invite == nil ? 0 : 1)
      invite?.write(to: &inner)
      Self.write(cuts, to: &inner)
      return Tag.participant.rawValue
    case .admission(let claim):
      claim.write(to: &inner)
      return Tag.admission.rawValue
    case .leave(let cuts):
      Self.write(cuts, to: &inner)
      return Tag.leave.rawValue
    case .stop:
      return Tag.stop.rawValue
    case .excess(let excess):
      excess.write(to: &inner)
      return Tag.excess.rawValue
    case .unknown(let tag, let bytes):
      inner.raw(bytes)
      return tag
    }
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(FormatError) {
    let byte = try reader.byte()
    let bytes = try reader.sized(Limits.controlRecord, "control act")
    guard let tag = Tag(rawValue: byte) else {
      self = .unknown(tag: byte, bytes: bytes)
      return
    }
    var inner = ByteReader(bytes)
    self = try Self.content(tag, &inner, cryptography)
    try inner.end()
  }

  private static func content(
    _ tag: Tag, _ inner: inout ByteReader, _ cryptography: any Cryptography
  ) throws(FormatError) -> ControlAct {
    switch tag {
    case .genesis: return .genesis(account: try AccountID(from: &inner), nonce: try inner.raw(32))
    case .shareGenesis:
      let account = try AccountID(from: &inner)
      let nonce = try inner.raw(32)
      let table = try inner.text(Limits.name, "table")
      let key = try Value(from: &inner)
      guard !table.isEmpty, key != .null else { throw .invalid("a root record has a table and a key") }
      return .shareGenesis(account: account, nonce: nonce, root: RecordName(table: table, key: key))
    case .epoch: return .epoch(commitment: try inner.raw(32))
    case .cut: return .cut(try DeviceCut(from: &inner, isOfGenesis: true))
    case .authorizedCut: return .cut(try DeviceCut(from: &inner, isOfGenesis: false))
    case .title:
      let time = HybridTime(try inner.uint64())
      return .title(try inner.text(Limits.deviceName, "title"), time: time)
    case .fork: return .fork(try ForkProof(from: &inner, cryptography))
    case .end: return .end(instance: InstanceID(try inner.uint64()), number: try inner.varint())
    case .invite: return .invite(try InviteTerms(from: &inner))
    case .revokeInvite:
      let invite = try ControlID(from: &inner)
      var standing: [AccountID] = []
      var previous: AccountID?
      for _ in 0..<(try inner.count(Limits.participants, "accounts")) {
        let account = try AccountID(from: &inner)
        try inner.ascend(&previous, to: account, "accounts")
        standing.append(account)
      }
      return .revokeInvite(invite, standing: standing)
    case .participant:
      let account = try AccountID(from: &inner)
      let permission = try permission(&inner)
      let invite = try inner.flag() ? try ControlID(from: &inner) : nil
      return .participant(account, permission, invite: invite, cuts: try cuts(&inner))
    case .admission: return .admission(try ShareClaim(from: &inner))
    case .leave: return .leave(cuts: try cuts(&inner))
    case .stop: return .stop
    case .excess: return .excess(try Excess(from: &inner, cryptography))
    }
  }

  private static func permission(_ reader: inout ByteReader) throws(FormatError) -> Permission? {
    let byte = try reader.byte()
    guard byte > 0 else { return nil }
    guard let permission = Permission(rawValue: byte) else { throw .unknown("permission") }
    return permission
  }

  private static func write(_ cuts: [Author: CutPoint], to writer: inout ByteWriter) {
    writer.list(cuts.keys.sorted()) { writer, author in
      author.write(to: &writer)
      cuts[author]?.write(to: &writer)
    }
  }

  private static func cuts(_ reader: inout ByteReader) throws(FormatError) -> [Author: CutPoint] {
    var cuts: [Author: CutPoint] = [:]
    var previous: Author?
    for _ in 0..<(try reader.count(Limits.authors, "authors")) {
      let author = try Author(from: &reader)
      try reader.ascend(&previous, to: author, "authors")
      cuts[author] = try CutPoint(from: &reader)
    }
    return cuts
  }
}

extension ControlAct.CutPoint {
  func write(to writer: inout ByteWriter) {
    writer.varint(number)
    id.write(to: &writer)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    number = try reader.varint()
    guard number > 0 else { throw .invalid("numbers above zero") }
    id = try ChangeSetID(from: &reader)
  }
}
