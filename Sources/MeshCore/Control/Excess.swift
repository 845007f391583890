/// First change sets of authors of one account. Enough of them prove that a device, or the account, writes as more authors than
/// the protocol allows. Each is signed by its own device, so it does not matter who brings them.
public struct Excess: Hashable, Sendable {
  /// Number 1 of each author, ascending by author, all of one zone.
  public let beginnings: [SignedHeader]

  /// Nil if they are none, too many for one record, of several zones, or not the first of their authors.
  public init?(_ headers: some Sequence<SignedHeader>) {
    let sorted = headers.sorted { $0.header.author < $1.header.author }
    guard let zone = sorted.first?.header.zone, sorted.count <= Limits.beginnings,
      sorted.allSatisfy({ $0.header.zone == zone && $0.header.number == 1 }),
      zip(sorted, sorted.dropFirst()).allSatisfy({ $0.header.author < $1.header.author })
    else { return nil }
    beginnings = sorted
  }

  public var zone: ZoneID? { beginnings.first?.header.zone }
  public var authors: [Author] { beginnings.map(\.header.author) }

  public func isSigned(_ cryptography: any Cryptography) -> Bool {
    beginnings.allSatisfy { $0.isSigned(cryptography) }
  }

  func write(to writer: inout ByteWriter) {
    writer.list(beginnings) { $1.write(to: &$0) }
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(DecodingError) {
    let headers = try reader.list(Limits.beginnings, "beginnings") { (reader: inout ByteReader) throws(DecodingError) in
      try SignedHeader(from: &reader, cryptography)
    }
    guard let excess = Excess(headers), excess.beginnings == headers else {
      throw .invalid("first change sets of one zone, ascending by author")
    }
    self = excess
  }
}

/// Who is proven to write as too many authors in a zone. What they wrote ends at zero, everywhere alike: which authors came
/// first differs from device to device, and the proof does not.
struct Overfull: Sendable, Equatable {
  private(set) var devices: Set<DeviceID> = []
  private(set) var accounts: Set<AccountID> = []

  init() {}

  /// - Parameters:
  ///   - acts: Whoever brought them: each author's own device has signed.
  ///   - owner: Has no bound on the authors of its account: the zone is its own.
  init(_ acts: some Sequence<Excess>, owner: AccountID, account: (DeviceID) -> AccountID?) {
    let authors = Set(acts.flatMap(\.authors))
    for (device, authors) in Dictionary(grouping: authors, by: \.device) where authors.count > Limits.instances {
      devices.insert(device)
    }
    for (account, authors) in Dictionary(grouping: authors, by: { account($0.device) }) {
      guard let account, account != owner, authors.count > Limits.authorsOfAccount else { continue }
      accounts.insert(account)
    }
  }
}
