/// Two change sets of one author that follow the same one: no writer that has its own log makes both. It was copied, restored
/// from a backup, or lies.
public struct ForkProof: Hashable, Sendable {
  /// The one with the lower id.
  public let first: SignedHeader
  public let second: SignedHeader

  /// Nil where the two are not the beginnings of two branches.
  public init?(_ one: SignedHeader, _ other: SignedHeader) {
    guard one.header.zone == other.header.zone, one.header.author == other.header.author,
      one.header.number == other.header.number, one.header.previous == other.header.previous, one.id != other.id
    else { return nil }
    (first, second) = one.id < other.id ? (one, other) : (other, one)
  }

  public var zone: ZoneID { first.header.zone }
  public var author: Author { first.header.author }

  /// Where the author ends: the last number that both branches have, at the end of a unit.
  public var limit: UInt64 {
    let shared = first.header.number - 1
    return shared - min(shared, max(first.header.part.index, second.header.part.index))
  }

  public func isSigned(_ cryptography: any Cryptography) -> Bool {
    first.isSigned(cryptography) && second.isSigned(cryptography)
  }

  func write(to writer: inout ByteWriter) {
    first.write(to: &writer)
    second.write(to: &writer)
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(DecodingError) {
    let first = try SignedHeader(from: &reader, cryptography)
    let second = try SignedHeader(from: &reader, cryptography)
    guard first.id < second.id, let proof = ForkProof(first, second) else {
      throw .invalid("two branches of one author, in ascending order")
    }
    self = proof
  }
}
