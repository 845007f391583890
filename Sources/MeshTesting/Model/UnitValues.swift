import MeshCore

/// The changes of one unit, part by part. It puts values that travelled in pieces into their places, and replaces
/// assets by their names.
struct UnitValues {
  private(set) var tables: [TableChanges] = []
  private(set) var manifests: [AssetID: AssetManifest] = [:]
  private let cryptography: any Cryptography
  private var pieces: [UInt64: [UInt8]] = [:]

  init(_ cryptography: any Cryptography) { self.cryptography = cryptography }

  /// Adds a part. Returns false if pieces are missing or don't follow each other.
  mutating func add(_ content: ChangeSetBody.Content) -> Bool {
    switch content {
    case .piece(let piece):
      guard piece.offset == UInt64(pieces[piece.ordinal]?.count ?? 0) else { return false }
      pieces[piece.ordinal, default: []] += piece.bytes
    case .changes(let changes):
      for var table in changes {
        // Nodes may spell names in different case.
        table.table = table.table.asciiLowercased
        table.columns = table.columns.map(\.asciiLowercased)
        for row in table.rows.indices {
          for field in table.rows[row].fields.indices {
            if case .asset(let manifest) = table.rows[row].fields[field].value {
              guard let asset = try? manifest.asset(cryptography) else { return false }
              manifests[asset.id] = manifest
              table.rows[row].fields[field].value = .value(.asset(asset))
            }
            guard case .long(let ordinal, let size, let isText) = table.rows[row].fields[field].value else { continue }
            guard let bytes = pieces[ordinal], bytes.count == size else { return false }
            table.rows[row].fields[field].value = .value(isText ? .text(bytes) : .blob(bytes))
          }
        }
        tables.append(table)
      }
    }
    return true
  }
}

/// The rules for a decrypted body, which don't depend on its signer. They are implemented here a second time,
/// independently of the store that they check.
enum Rules {
  /// Returns the broken rule, or nil if all hold.
  static func broken(by body: ChangeSetBody, _ header: ChangeSetHeader) -> String? {
    guard case .changes(let tables) = body.content else { return nil }
    for table in tables {
      let name = table.table.asciiLowercased.unicodeScalars
      if name.isEmpty || name.starts(with: "mesh_".unicodeScalars) || name.starts(with: "sqlite_".unicodeScalars) {
        return "names a reserved table"
      }
      if ([table.table] + table.columns).contains(where: { $0.utf8.contains(0) }) { return "has U+0000 in a name" }
      if Set(table.columns.map(\.folded)).count < table.columns.count { return "names a column twice" }
      for row in table.rows {
        if row.generation / 2 > header.time.value || row.generation == header.time.value &* 2 &+ 1 {
          return "has a generation that its time does not allow"
        }
        for stamp in [row.stamp] + row.fields.compactMap(\.stamp) {
          if stamp.time > header.time { return "has a stamp that is later than it" }
          if stamp.author != header.author, !(row.isLife && row.generation.isAlive) { return "has a stamp of another" }
        }
      }
    }
    return nil
  }
}
