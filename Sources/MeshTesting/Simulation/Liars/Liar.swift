import MeshCore
import MeshCrypto

/// The memory of a lying member: the messages of its sessions, and the chains of change sets that it makes beside those
/// of its honest replica.
struct Liar {
  /// The key of a record that no author wrote. If a node shows it, the node accepted a forgery.
  static let forgedKey = Value.text("forged")
  private static let memory = 50

  let plan: FaultPlan
  var generator: SplitMix64
  private(set) var sent: [[UInt8]] = []
  private(set) var received: [[UInt8]] = []
  private var chains: [LogKey: ChangeSetTip] = [:]
  /// The values in its change sets that are valid.
  let written = WrittenValues()
  /// The devices of its account that don't run anywhere.
  var crowd: [DeviceKeys] = []
  /// More certificates of its account than an account can have.
  var reserve: [Certificate] = []

  private struct LogKey: Hashable {
    let zone: ZoneID
    let author: Author
  }

  init(plan: FaultPlan, generator: SplitMix64) {
    self.plan = plan
    self.generator = generator
  }

  /// Returns the message to send in place of one that its replica sends, or nil if it is held back.
  mutating func passOn(_ bytes: [UInt8]) -> [UInt8]? {
    guard plan.wrongChunks > 0, bytes.count > Limits.inlineBlob, generator.once(in: plan.wrongChunks),
      case .assetChunk(let zone, let asset, let index, var chunk)? = try? Message.decode(bytes)
    else { return bytes }
    if generator.once(in: 3) { return nil }
    chunk[Int.random(in: 0..<chunk.count, using: &generator)] ^= 1
    return Message.assetChunk(zone, asset, index, chunk).encoded
  }

  mutating func heard(sent bytes: [UInt8]) { Self.remember(bytes, &sent) }
  mutating func heard(received bytes: [UInt8]) { Self.remember(bytes, &received) }

  private static func remember(_ bytes: [UInt8], _ messages: inout [[UInt8]]) {
    if messages.count >= memory { messages.removeFirst() }
    messages.append(bytes)
  }

  /// The facts that a liar knows when it lies.
  struct Occasion {
    let zone: ZoneID
    /// The control record that lets it write there, if there is one.
    var citation: ControlID?
    let epoch: EpochID
    let key: EpochKey
    let keys: DeviceKeys
    let device: DeviceID
    /// Another device, in whose name it speaks.
    let victim: DeviceID
    let now: Int64
    let cryptography: any Cryptography
  }

  /// The instances of the device that contain only lies.
  enum Chain: UInt64 {
    case future = 9_001
    case generation, fork, flood, gap, forgery, broken, overreach, oldEpoch, revoked, context, table
    case crowd = 10_000
  }

  /// Makes a change set of a chain of lies. It follows the rules except as the other parameters say.
  mutating func changeSet(
    _ chain: Chain, _ occasion: Occasion, author: DeviceID? = nil, key: Value, generation: UInt64 = 1, title: String,
    ahead: Int64 = 0, instance number: UInt64 = 0, skipping gap: UInt64 = 0, breaksChain: Bool = false,
    keeps: Bool = true, table: String = "list",
    context: (Author, HybridTime) -> CausalContext = { _, _ in CausalContext() },
    raising: (HybridTime) -> UInt64? = { _ in nil }
  ) throws -> ChangeSet {
    let random = chain.rawValue + number
    let instance = occasion.citation.map { InstanceID(under: $0, random: UInt32(random)) } ?? InstanceID(random)
    let author = Author(device: author ?? occasion.device, instance: instance)
    let log = LogKey(zone: occasion.zone, author: author)
    let last = chains[log]
    let time = max(HybridTime(milliseconds: occasion.now + ahead), HybridTime((last?.time.value ?? 0) + 1))
    let stamp = Stamp(time: time, author: author)
    let row = RowChange(
      key: key, generation: raising(time) ?? generation, isLife: true, stamp: stamp,
      fields: [.init(column: 0, value: .value(.text(title)))])
    let body = ChangeSetBody(
      context: context(author, time),
      content: .changes([TableChanges(table: table, columns: ["title"], rows: [row])]))
    let previous = gap > 0 || breaksChain ? ChangeSetID([UInt8](repeating: 7, count: 32)) : last?.id
    let header = ChangeSetHeader(
      zone: occasion.zone, author: author, number: (last?.number ?? 0) + 1 + gap, previous: previous,
      citation: previous == nil ? occasion.citation : nil, time: time, epoch: occasion.epoch, part: .only)
    let changeSet = try ChangeSet(
      header, body: body.encoded(author: author), key: occasion.key, secrets: occasion.keys,
      with: occasion.cryptography)
    if previous == last?.id, author.device != occasion.victim {
      written.note(RecordName(table: table, key: key), "title", .text(title))
    }
    if keeps, gap == 0 {
      chains[log] = ChangeSetTip(number: header.number, id: changeSet.id, time: time)
    }
    return changeSet
  }

  // MARK: Lies, each as messages for one session

  mutating func forgery(_ occasion: Occasion) throws -> [[UInt8]] {
    if generator.once(in: 2), let altered = altered() { return [altered] }
    let forged = try changeSet(
      .forgery, occasion, author: occasion.victim, key: Self.forgedKey, title: "forged", keeps: false)
    return [Message.changeSets(occasion.zone, [forged.bytes]).encoded]
  }

  /// Returns another device's change set with one bit changed.
  private mutating func altered() -> [UInt8]? {
    for message in received.reversed() {
      guard case .changeSets(let zone, var changeSets)? = try? Message.decode(message), !changeSets.isEmpty else {
        continue
      }
      let index = Int.random(in: 0..<changeSets.count, using: &generator)
      let byte = Int.random(in: 0..<changeSets[index].count, using: &generator)
      changeSets[index][byte] ^= UInt8(1 << Int.random(in: 0..<8, using: &generator))
      return Message.changeSets(zone, changeSets).encoded
    }
    return nil
  }

  mutating func truncation() -> [[UInt8]] {
    guard let whole = (sent + received).randomElement(using: &generator), whole.count > 1 else { return [] }
    return [Array(whole.prefix(Int.random(in: 1..<whole.count, using: &generator)))]
  }

  mutating func replay() -> [[UInt8]] {
    let known = sent + received
    return (0..<min(5, known.count)).compactMap { _ in known.randomElement(using: &generator) }
  }

  mutating func gap(_ occasion: Occasion) throws -> [[UInt8]] {
    let far = generator.once(in: 2) ? UInt64.max - 2 : UInt64.random(in: 1...1_000, using: &generator)
    let lie = try changeSet(.gap, occasion, key: .text("list0"), title: "beyond a gap", skipping: far)
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns two change sets, the second of which names a predecessor that nobody has.
  mutating func brokenChain(_ occasion: Occasion) throws -> [[UInt8]] {
    let first = try changeSet(.broken, occasion, key: .text("list4"), title: "in a chain")
    let second = try changeSet(
      .broken, occasion, key: .text("list4"), title: "beside the chain", breaksChain: true, keeps: false)
    return [Message.changeSets(occasion.zone, [first.bytes, second.bytes]).encoded]
  }

  /// Returns a change set with a time that is minutes ahead, which honest clocks reach, or far in the future.
  mutating func future(_ occasion: Occasion) throws -> [[UInt8]] {
    let ahead = generator.once(in: 4) ? Int64(1) << 42 : Int64.random(in: 360_000...900_000, using: &generator)
    let lie = try changeSet(.future, occasion, key: .text("list1"), title: "of the future", ahead: ahead)
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  mutating func generation(_ occasion: Occasion) throws -> [[UInt8]] {
    // This is the greatest valid generation, from which honest devices continue, or one that stops the liar.
    let isBeyond = generator.once(in: 4)
    let lie = try changeSet(
      .generation, occasion, key: .text("list2"), title: "of the last generation",
      raising: { isBeyond ? .max : $0.greatestGeneration - 1 })
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns a change set with a causal past that nobody has: of its own author, of a device that never wrote, or with
  /// a number that will never exist.
  mutating func context(_ occasion: Occasion) throws -> [[UInt8]] {
    let kind = Int.random(in: 0..<3, using: &generator)
    let instance = InstanceID(UInt64.random(in: 1...9, using: &generator))
    let lie = try changeSet(
      .context, occasion, key: .text("list1"), title: "after what nobody has",
      context: { author, time in
        let named =
          kind == 0 ? author : Author(device: kind == 1 ? occasion.victim : occasion.device, instance: instance)
        return CausalContext([named: .init(number: kind == 2 ? .max : 1_000_000, time: HybridTime(time.value - 1))])
      })
    return [Message.changeSets(occasion.zone, [lie.bytes]).encoded]
  }

  /// Returns forged tips of the instance that the victim writes as, if it is known, and of other instances.
  mutating func forgedHeads(_ occasion: Occasion, _ authors: [Author]) -> [[UInt8]] {
    guard let id = ChangeSetID([UInt8](repeating: 5, count: 32)) else { return [] }
    var tips: [Author: Message.LogTip] = [:]
    for author in authors {
      tips[author] = .init(number: UInt64.random(in: 1...1_000_000, using: &generator), id: id)
    }
    let invented = Author(device: occasion.victim, instance: InstanceID(UInt64.random(in: 1...99, using: &generator)))
    tips[invented] = .init(number: .max, id: id)
    return [Message.tips(occasion.zone, tips).encoded]
  }

  mutating func unknownTable(_ occasion: Occasion) throws -> [[UInt8]] {
    let lies = try (0..<5).map { index in
      let name = "unknown\(UInt64.random(in: 0..<1_000, using: &generator))"
      return try changeSet(.table, occasion, key: .text("x\(index)"), title: "in no table", table: name).bytes
    }
    return [Message.changeSets(occasion.zone, lies).encoded]
  }

  mutating func clock(_ occasion: Occasion) -> [[UInt8]] {
    let times = [.min, .max, 0, occasion.now - 3_600_000, occasion.now + 3_600_000]
    return times.randomElement(using: &generator).map { [Message.clock($0).encoded] } ?? []
  }

  /// Returns two change sets that fork, one for each of two sessions.
  mutating func fork(_ occasion: Occasion) throws -> ([UInt8], [UInt8]) {
    let one = try changeSet(.fork, occasion, key: .text("list3"), title: "one story", keeps: false)
    let other = try changeSet(.fork, occasion, key: .text("list3"), title: "another story")
    return (
      Message.changeSets(occasion.zone, [one.bytes]).encoded, Message.changeSets(occasion.zone, [other.bytes]).encoded
    )
  }

  mutating func flood(_ occasion: Occasion) throws -> [[UInt8]] {
    let everything = VersionVector([Author(device: occasion.victim, instance: InstanceID(3)): .max])
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: return (0..<500).map { Message.ping(UInt64($0)).encoded }
    case 1: return (0..<100).map { _ in Message.digestRequest(occasion.zone).encoded }
    case 2: return (0..<50).map { _ in Message.want(occasion.zone, VersionVector()).encoded }
    case 3:
      return [Message.have(occasion.zone, everything).encoded, Message.upToDate(occasion.zone, everything).encoded]
    default:
      let changeSets = try (0..<20).map { index in
        try changeSet(.flood, occasion, key: .text("list\(index % 10)"), title: "flood \(index)").bytes
      }
      return [Message.changeSets(occasion.zone, changeSets).encoded]
    }
  }
}
