import MeshCore

/// Handles rows that a program on this machine wrote with foreign keys off, which is the default in many languages.
/// They refer to a row that is not here yet, or that has just got another key. Without mesh, they would be in the
/// table, and the program may be about to write to them again. Therefore they stay in this machine's table, and are
/// noted. The other machines hold them until the reference is valid.
final class DanglingRows {
  private let records: ZoneRecords
  private let flushing: FlushPlan?
  /// References that are valid on no other device, of records that don't wait for their parents at the moment.
  private var dangling: [RecordRef: Set<RecordRef>] = [:]
  /// Whether rows are shown here that other devices hold.
  private lazy var hasAny = Result { try transaction.held.has(.shownHereOnly) }
  /// The records that programs wrote and that are flushed now.
  private lazy var written = flushing?.written ?? []
  private var transaction: Transaction { records.transaction }

  init(_ records: ZoneRecords, flushing: FlushPlan?) { (self.records, self.flushing) = (records, flushing) }

  func areThereAny() throws -> Bool { try hasAny.get() }

  /// Lets the row stay although the parent is missing, if there is a reason for it. Returns false if there is none.
  func letStay(_ ref: RecordRef, _ parent: RecordRef) throws -> Bool {
    if try records.reason(missing: parent) == .parentElsewhere { return try letFollow(ref, parent) }
    if let flushing, flushing.rekeyed.contains(parent) || flushing.staying.contains(ref) || written.contains(ref) {
      if flushing.rekeyed.contains(parent) { transaction.reached(.keyRenamed) }
      return true
    }
    if dangling[ref]?.contains(parent) == true { return true }
    return try hasAny.get() && transaction.held.danglingParents(of: ref, in: records.zone.id).contains(parent)
  }

  /// Makes a noted row follow its parent, if the parent has appeared in another zone. The row stays until it moves there,
  /// because the program must find it meanwhile. A row doesn't follow another record that happens to have the key of an
  /// earlier parent.
  ///
  /// - Returns: False if it doesn't follow.
  private func letFollow(_ ref: RecordRef, _ parent: RecordRef) throws -> Bool {
    let zones = try transaction.catalog.zones()
    guard zones.privateZone == records.zone.id, try records.load(parent) == nil,
      let zone = try transaction.occupant(parent, besides: records.zone.id), zones.mayWrite(zone),
      try dangling[ref]?.contains(parent) == true
        || transaction.held.danglingParents(of: ref, in: records.zone.id).contains(parent)
    else { return false }
    try transaction.look(at: ref)
    return true
  }

  /// Notes a row that stays.
  func keep(_ ref: RecordRef) throws {
    transaction.reached(.rowShownHereOnly)
    try transaction.held.note(ref, in: records.zone.id, .shownHereOnly, "written here while foreign keys were off")
    hasAny = .success(true)
  }

  /// Keeps the references of a noted row. The note is deleted together with the list of awaited records. Afterwards,
  /// `settle` determines whether the references still dangle.
  func remember(_ ref: RecordRef) throws {
    guard try hasAny.get() else { return }
    let parents = try transaction.held.danglingParents(of: ref, in: records.zone.id)
    if !parents.isEmpty { dangling[ref, default: []].formUnion(parents) }
  }
}

extension ZoneRecords {
  /// Returns why a record is held whose parent has no row.
  func reason(missing parent: RecordRef) throws -> HeldReason {
    if try transaction.catalog.zones().isRouted && transaction.isElsewhere(parent, besides: zone) {
      return .parentElsewhere
    }
    let record = try load(parent)
    return record != nil && record?.isAlive == false ? .parentDeleted : .missingParent
  }
}
