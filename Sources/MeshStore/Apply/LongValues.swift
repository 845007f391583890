import MeshCore

/// Puts values together that travelled in pieces before the part that refers to them.
struct LongValues {
  let session: Session
  let zone: Int64
  let author: Int64
  let reader: ChangeSetReader
  /// The unit's first number, and the part that refers.
  let numbers: Range<UInt64>

  func value(of field: FieldValue) throws -> Value {
    switch field {
    case .value(let inline): inline
    case .long(let ordinal, let size, let isText): try value(ordinal, size: size, isText: isText)
    }
  }

  private func value(_ ordinal: UInt64, size: Int, isText: Bool) throws -> Value {
    var bytes: [UInt8] = []
    for number in numbers {
      guard let piece = try piece(number), piece.ordinal == ordinal else { continue }
      guard Int(piece.offset) == bytes.count, bytes.count + piece.bytes.count <= size else {
        throw UnitReader.Malformed(reason: "the pieces of a long value do not follow each other")
      }
      bytes += piece.bytes
    }
    guard bytes.count == size else { throw UnitReader.Malformed(reason: "pieces of a long value are missing") }
    return isText ? .text(bytes) : .blob(bytes)
  }

  private func piece(_ number: UInt64) throws -> LongValuePiece? {
    guard let bytes = try LogRow.bytes(session.sql, zone: zone, author: author, number: number) else { return nil }
    let changeSet = try ChangeSet(bytes, with: reader.cryptography)
    guard let key = reader.keys[changeSet.header.epoch],
      let plain = changeSet.body(key: key, with: reader.cryptography),
      case .piece(let piece) = try ChangeSetBody(plain, author: changeSet.header.author).content
    else { return nil }
    return piece
  }
}
