import MeshCore

/// The author's next change set: its place in the chain, in its unit, and in causal order.
struct NextPart {
  /// The `mesh_zone.id`.
  let zone: Int64
  /// The parts of the unit that are written.
  private(set) var index: UInt64
  /// The parts that were planned when the unit began.
  private let planned: UInt64
  /// The zone's clock when the unit began.
  let unitStart: HybridTime
  var head: AuthorHead
  var clock: HybridClock
  let now: Int64
  /// The state that this node has merged, without the author itself.
  let context: CausalContext
  /// The state that the author had merged at its last change set.
  private var before: CausalContext

  init(_ transaction: Transaction, _ writer: ChangeSetWriter, _ now: Int64) throws {
    let counters: ZoneCounters
    if let known = try transaction.counters.read(writer.zone) {
      counters = known
    } else {
      guard transaction.catalog.isWritable else { throw PlanObstacle.readOnly }
      counters = try transaction.counters.obtain(writer.zone)
    }
    (zone, index) = (counters.id, counters.flushPart)
    if index == 0 {
      // Rows that are not a run are one part.
      let rows = try transaction.pending.count(through: counters.runLast, transaction.pendingFilter(zone))
      planned = UInt64(max(0, rows - 1) / Choices.slice + 1)
      unitStart = counters.clock.last
    } else {
      (planned, unitStart) = (counters.flushPlanned, counters.flushClock)
    }
    let author = try transaction.catalog.authorNumber(writer.author)
    head = try transaction.catalog.heads.of(author, zone)
    clock = counters.clock
    self.now = now
    var context = CausalContext()
    for other in try transaction.catalog.heads.all(zone) where other.author != author && other.merged > 0 {
      context[try transaction.catalog.author(other.author)] = .init(number: other.merged, time: other.mergedTime)
    }
    self.context = context
    before = try transaction.catalog.heads.context(of: author, zone)
  }

  private var difference: CausalContext { context.difference(from: before) }

  /// The bytes available for changes. The names of their tables and columns count towards it.
  var room: Int {
    var writer = ByteWriter()
    difference.write(to: &writer)
    return Limits.changeSet - ChangeSet.overhead - writer.bytes.count - 64
  }

  /// Encodes, encrypts and signs.
  mutating func make(_ content: ChangeSetBody.Content, isFinal: Bool, _ writer: ChangeSetWriter) throws -> ChangeSet {
    // The time is after every stamp inside, and after the author's last time.
    let time = clock.tick(noted: now, now: now)
    let part = ChangeSetHeader.Part(
      index: index, planned: max(planned, index + 1), isFinal: isFinal || index + 1 >= StoreLimits.unitParts)
    let header = ChangeSetHeader(
      zone: writer.zone, author: writer.author, number: head.stored + 1, previous: head.storedID,
      citation: writer.citation, time: time, epoch: writer.epoch, part: part)
    let body = ChangeSetBody(context: difference, content: content)
    // Nobody could ever read such a change set, and once signed, it could not be reverted.
    guard body.elementCount <= Limits.elements else { throw FormatError.limit("elements") }
    let bytes = body.encoded(author: writer.author)
    return try ChangeSet(header, body: bytes, key: writer.key, secrets: writer.secrets, with: writer.cryptography)
  }

  @discardableResult
  mutating func append(
    _ content: ChangeSetBody.Content, isFinal: Bool, _ transaction: Transaction, _ writer: ChangeSetWriter
  ) throws -> ChangeSet {
    let changeSet = try make(content, isFinal: isFinal, writer)
    try transaction.counters.obtain(writer.zone).clock = clock
    try record(changeSet, isSynced: true, transaction)
    return changeSet
  }

  /// Writes the log row and the author's tip, and counts the part.
  mutating func record(_ changeSet: ChangeSet, isSynced: Bool, _ transaction: Transaction) throws {
    let counters = try transaction.counters.obtain(changeSet.header.zone)
    try transaction.log.insert(changeSet, of: head.author, in: zone)
    head.advance(to: changeSet)
    try transaction.log.place(head.stored...head.stored, of: head.author, in: counters)
    head.applied = head.stored
    if changeSet.header.part.isFinal {
      head.merged = head.stored
      head.mergedID = head.storedID
      head.mergedTime = head.storedTime
      index = 0
      counters.flushSynced = 0
      counters.flushValues = 0
    } else {
      index += 1
      if isSynced { counters.flushSynced = index }
    }
    (counters.flushPart, counters.flushPlanned, counters.flushClock) = (index, planned, unitStart)
    before = context
    try transaction.catalog.heads.save(head, context: context, zone)
  }
}
