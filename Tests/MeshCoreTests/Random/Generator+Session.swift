@testable import MeshCore

/// Random messages of a session.
extension Generator {
  mutating func hello() -> Hello {
    let isJoining = flag()
    var hello = Hello(
      certificate: isJoining ? nil : certificate(), accountHead: bytes(32), proof: isJoining ? proof() : nil)
    if !isJoining { hello.signature = bytes(64) }
    return hello
  }

  private mutating func proof() -> InviteProof {
    InviteProof(seed: bytes(32), handshakeHash: bytes(64), StubCryptography())
  }

  mutating func claim() -> DeviceClaim {
    DeviceClaim(
      request: request(), account: identifier(), seed: bytes(32), secrets: StubSecrets(signingKey: bytes(32)),
      StubCryptography())
  }

  mutating func acknowledgement() -> Acknowledgement {
    Acknowledgement(
      zone: identifier(), device: identifier(), time: time(), merged: vector(),
      controlHeads: many(3) { $0.identifier() }, secrets: StubSecrets(signingKey: bytes(32)))
  }

  mutating func schema() -> SchemaDescription {
    let columns = (0..<below(4) + 1).map { index in
      SchemaDescription.Column(
        name: "Column \(index)", declaredType: pick(["", "TEXT", "DECIMAL(10,5)", "DOUBLE PRECISION"]),
        notNull: flag(), collation: pick(ColumnCollation.allCases),
        defaultValue: pick([nil, .null, .integer(-1), .text("é")]))
    }
    let foreignKeys = many(2) { generator in
      SchemaDescription.ForeignKey(
        column: generator.below(columns.count), parent: "parent", onDelete: generator.pick([.cascade, .setNull]),
        onUpdate: generator.pick(ForeignKeyAction.allCases))
    }
    return SchemaDescription(
      name: "table \(below(9))", columns: columns, key: below(columns.count), foreignKeys: foreignKeys,
      isWithoutRowid: flag(), isPrivate: flag())
  }

  mutating func deviceInvite() -> DeviceInviteContent {
    DeviceInviteContent(
      seed: bytes(32), account: identifier(), expires: Int64(bitPattern: next()),
      addresses: many(3) { "host-\($0.below(99)):7404" })
  }

  mutating func shareInvite() -> ShareInviteContent {
    ShareInviteContent(
      seed: bytes(32), zone: identifier(), owner: identifier(), record: identifier(),
      addresses: many(3) { "host-\($0.below(99)):7404" })
  }

  /// Texts that the grammar of expressions has, put together at random.
  mutating func expression(in place: SchemaExpression.Place, depth: Int = 4) -> String {
    let leaves = ["1", "-2.5", "'it''s'", "X'00ff'", "NULL", "TRUE", "CURRENT_DATE"]
    guard depth > 0, below(4) > 0 else {
      return pick(leaves + (place == .row ? ["\"Column 0\"", "\"column 0\""] : ["random()", "hex(randomblob(8))"]))
    }
    let (a, b) = (expression(in: place, depth: depth - 1), expression(in: place, depth: depth - 1))
    let joined = ["+", "||", "AND", "or", "<=", "<>", "IS", "IS NOT", "&", "<<"].map { "(\(a)) \($0) \(b)" }
    return "("
      + pick(
        joined + [
          "NOT \(a)", "- (\(a))", "~\(a)", "(\(a)) ISNULL", "\(a) BETWEEN (\(b)) AND 3", "(\(a)) NOT IN (\(b), 2)",
          "CASE \(a) WHEN \(b) THEN 1 ELSE 2 END", "CAST(\(a) AS VARCHAR(9))", "(\(a)) COLLATE nocase", "length(\(a))",
          "coalesce(\(a), \(b))", "(\(a)) LIKE 'a%' ESCAPE '!'", "strftime('%Y', \(a))",
        ]) + ")"
  }

  mutating func rules() throws -> SchemaRules {
    var rules = SchemaRules()
    if flag() {
      let computed = try SchemaExpression(sql: expression(in: .initial), in: .initial)
      rules.defaults = [.init(column: "Column 0", expression: computed)]
    }
    for index in 0..<below(3) {
      let expression = try SchemaExpression(sql: expression(in: .row), in: .row)
      rules.checks.append(.init(name: flag() ? "check \(index)" : nil, expression: expression))
      rules.indexes.append(
        .init(
          name: flag() ? "index \(index)" : nil, isUnique: flag(),
          terms: [.init(expression, isDescending: flag())], condition: flag() ? expression : nil))
    }
    if flag() {
      rules.leftOut = [
        .init(pick(SchemaRules.LeftOut.Part.allCases), "name", SchemaRefusal(pick(SchemaRefusal.Reason.allCases), "x"))
      ]
    }
    return rules
  }

  static let messageKinds = 37

  /// Every kind comes: `kind` is taken modulo their number.
  mutating func message(kind: Int) -> Message {
    let zone: ZoneID = identifier()
    switch kind % Self.messageKinds {
    case 0: return .hello(hello())
    case 1: return .goodbye(pick(Message.Goodbye.allCases), text: text(30))
    case 2: return .account(bytes(below(40)))
    case 3: return .claim(claim())
    case 4: return .admitted(certificate())
    case 5: return .zones(many(4) { $0.bytes(16) })
    case 6: return .controlHeads(zone, many(4) { $0.identifier() })
    case 7: return .controlRecords(zone, many(3) { $0.bytes($0.below(60)) })
    case 8: return .keyRequest(zone, many(4) { $0.identifier() })
    case 9:
      let keys: [(EpochID, [UInt8])] = many(3) { ($0.identifier(), $0.bytes(80)) }
      return .keys(zone, Dictionary(keys, uniquingKeysWith: { first, _ in first }))
    case 10: return .want(zone, vector())
    case 11: return .changeSets(zone, many(3) { $0.bytes($0.below(90)) })
    case 12: return .upToDate(zone, vector())
    case 13: return .have(zone, vector())
    case 14: return .announceOnly(zone)
    case 15: return .credit(magnitude())
    case 16: return .acknowledgement(acknowledgement())
    case 17:
      return .digest(
        zone, vector(), ZoneDigest(records: magnitude(), hash: bytes(16)), Unsent(rawValue: UInt8(below(3))) ?? .nothing
      )
    case 18: return .digestRequest(zone)
    case 19: return .schema(many(2) { $0.schema() })
    case 20: return .ping(next())
    case 21: return .pong(next())
    case 22:
      let tips: [(Author, Message.LogTip)] = many(3) {
        ($0.author(), .init(number: max(1, $0.magnitude()), id: $0.identifier()))
      }
      return .tips(zone, Dictionary(tips, uniquingKeysWith: { first, _ in first }))
    case 23: return .excerptRequest(zone, author(), through: magnitude())
    case 24: return .excerpt(zone, many(3) { $0.bytes($0.below(90)) })
    case 25: return .clock(Int64(bitPattern: next()))
    case 26:
      let heads: [(AccountID, [UInt8])] = many(3) { ($0.identifier(), $0.bytes(32)) }
      return .accountHeads(Dictionary(heads, uniquingKeysWith: { first, _ in first }))
    case 27: return .shareClaim(zone, shareClaim())
    case 28:
      let first = below(3_000)
      return .assetWant(zone, identifier(), first..<first + below(Limits.chunksWanted + 1))
    case 29: return .assetChunk(zone, identifier(), below(3_000), bytes(below(90)))
    case 30:
      var chunks = ChunkSet(count: below(100) + 1)
      for _ in 0..<below(50) { chunks.insert(below(chunks.count)) }
      return .assetHas(zone, identifier(), flag() ? chunks : nil)
    case 31:
      let coming = AssetBacklog.Amount(assets: below(1 << 40), bytes: below(1 << 50))
      return .assetBacklog(zone, AssetBacklog(coming: coming, absent: .init(assets: below(9), bytes: below(9))))
    case 32:
      let named: [NamedRules] = many(2) { NamedRules(table: "table", rules: (try? $0.rules()) ?? SchemaRules()) }
      return .schemaRules(named)
    case 33: return .accountName(pick(["x", "Zoë"]))
    case 34: return .columnPolicies(policies())
    case 35: return .ownerPolicies(identifier(), policies())
    default:
      let named: [NamedFormerNames] = many(2) { generator in
        NamedFormerNames(
          table: "table",
          names: FormerNames(
            tables: generator.many(3) { "Table \($0.below(9))" },
            columns: generator.many(3) { .init(name: "Column \($0.below(9))", former: "Column \($0.below(9))") }))
      }
      return .formerNames(named)
    }
  }

  private mutating func policies() -> [NamedPolicies] {
    many(2) { generator in
      NamedPolicies(
        table: "table",
        policies: generator.many(3) {
          ColumnPolicySetting(
            column: "Column \($0.below(9))", policy: $0.pick(ColumnPolicy.allCases), time: Int64($0.below(1 << 48)))
        })
    }
  }
}
