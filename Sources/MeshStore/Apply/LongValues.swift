import MeshCore

/// Puts values together that travelled in pieces before the part that refers to them.
///
/// Guard: used inside one access, by one caller.
final class LongValues {
  private let session: Session
  private let zone: Int64
  private let author: Int64
  private let reader: ChangeSetReader
  /// The unit's first number, and the part that refers.
  private let numbers: Range<UInt64>
  /// Ordinal → numbers of its pieces, ascending: read once, when a value is first asked for.
  private var index: [UInt64: [UInt64]]?

  init(session: Session, zone: Int64, author: Int64, reader: ChangeSetReader, numbers: Range<UInt64>) {
    self.session = session
    self.zone = zone
    self.author = author
    self.reader = reader
    self.numbers = numbers
  }

  func value(of field: FieldValue) throws -> Value {
    switch field {
    case .value(let inline): inline
    case .long(let ordinal, let size, let isText): try value(ordinal, size: size, isText: isText)
    case .asset(let manifest):
      .asset(session.catalog.isWritable ? try session.remember(manifest) : try manifest.asset(session.cryptography))
    }
  }

  private func value(_ ordinal: UInt64, size: Int, isText: Bool) throws -> Value {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(size, Limits.longValue))
    for number in try pieces()[ordinal] ?? [] {
      guard let piece = try piece(number) else { continue }
      guard Int(piece.offset) == bytes.count, bytes.count + piece.bytes.count <= size else {
        throw UnitReader.Malformed(reason: "the pieces of a long value do not follow each other")
      }
      bytes += piece.bytes
    }
    guard bytes.count == size else { throw UnitReader.Malformed(reason: "pieces of a long value are missing") }
    return isText ? .text(bytes) : .blob(bytes)
  }

  private func pieces() throws -> [UInt64: [UInt64]] {
    if let index { return index }
    var found: [UInt64: [UInt64]] = [:]
    for number in numbers {
      if let piece = try piece(number) { found[piece.ordinal, default: []].append(number) }
    }
    index = found
    return found
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
