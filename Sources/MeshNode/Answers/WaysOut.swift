import MeshControl
import MeshCore
import MeshStore

/// The remedies for held records, as far as this file tells them.
struct WaysOut {
  private let tables: [StoreTables.Summary]
  /// Tables that are synchronized here and have disappeared.
  private let gone: [String: StoreCapture.Fate]
  private let adoptable: Set<String>
  private let here: Set<String>

  /// Reads the remedies.
  ///
  /// - Parameter trusts: Returns whether the tables and renamings of a device are adopted.
  init(_ store: Store, trusts: (DeviceID) -> Bool) throws {
    tables = try store.tables.list()
    gone = try store.capture.missingTables()
    let missing = try store.schema.missing(trusts: trusts).filter { $0.refusal == nil }
    adoptable = Set(missing.filter { !$0.exists }.map(\.table))
    here = Set(missing.filter(\.exists).map(\.table))
  }

  /// Returns the remedy for held records.
  ///
  /// - Parameter records: One or more records with the same reason.
  func text(_ records: [HeldEntry]) -> String {
    let held = Set(records.map(\.table))
    switch records.first?.reason {
    case .missingParent, nil: return "Such a record is shown when the record that it refers to is here and shown."
    case .parentDeleted: return "The parent was deleted. Such a record is shown again when its parent is written again."
    case .unknownTable, .untracked: return unknown(held)
    case .constraint where records.allSatisfy(\.isKeyUnfit):
      return
        "The table has another key here than on the machine that wrote to it, and the key of a synchronized table can't be "
        + "changed. On every machine, copy the rows into a table of another name with one key, run mesh track on that, and "
        + "mesh untrack on this one."
    case .constraint:
      return
        "A constraint or trigger of this file refuses what is merged. \(resolve(records)) sets values that fit, everywhere. Or "
        + "loosen the constraint: mesh tries again after a change of the schema. After any other change, run mesh held retry."
    case .shownHereOnly:
      return
        "A program of this machine wrote such a row with foreign keys off. Other machines hold it until what it refers to is here: "
        + "insert that row, or write another reference."
    case .editRefused:
      return
        "Such a row shows the last version that its table accepted. Edit it in the table, or run \(resolve(records)), or "
        + "keep what it shows: mesh held resolve TABLE KEY --keep shown."
    case .slotTaken:
      return
        "A record of another zone has the row: a copy that was kept, a private one, or another share's. Delete that one, "
        + "or give it another key, and the held record is shown. mesh explain record TABLE KEY shows both."
    case .parentElsewhere:
      let (covered, moved) = (records.filter(\.isParentCovered), records.filter { !$0.isParentCovered })
      let ways = [
        moved.isEmpty
          ? nil
          : "Such a record refers to one in another share: that one moved there meanwhile, or another one has its key. If it "
            + "moved, somebody with write permission in both shares moves it back and then moves it again: the held record "
            + "goes with it.",
        covered.isEmpty
          ? nil
          : "The record that it refers to is held itself (slot-taken): delete the row that has its key, or give that row "
            + "another key, and both are shown.",
      ]
      return ways.compactMap(\.self).joined(separator: " ")
    case .outsideShare: return outsideShare(held)
    case .valueTooLong, .keyUnreadable:
      let messages = Set(records.compactMap(\.message)).sorted().prefix(3).joined(separator: "; ")
      return "mesh sends nothing of such a row until it is fixed\(messages.isEmpty ? "" : ": \(messages)")."
    case .assetIncomplete: return "A BLOB that the table requires is downloading: mesh asset list shows how far it is."
    @unknown default: return "mesh status names the reason."
    }
  }

  /// Returns the command, with the names of the record and of the columns in question if it is about one record.
  private func resolve(_ records: [HeldEntry]) -> String {
    guard records.count == 1, let record = records.first else {
      return "mesh held resolve TABLE KEY --column COLUMN --value VALUE"
    }
    let refused = Set(record.refused.map(\.column))
    let deciding =
      refused.isDisjoint(with: record.deciding) ? record.deciding : record.deciding.filter(refused.contains)
    let columns = deciding.isEmpty ? record.refused.filter { $0.shown != nil }.map(\.column) : deciding
    let values = (columns.isEmpty ? ["COLUMN"] : columns).map { " --column \($0) --value VALUE" }.joined()
    return "mesh held resolve \(record.table) \(ReportedValue(record.key).argument)\(values)"
  }

  /// Returns what brings a discarded record back.
  static func back(_ record: DiscardedRecord) -> String {
    let restore = "mesh restore \(record.table) \(ReportedValue(record.key).argument)"
    return switch record.reason {
    case .slotTaken:
      "Another record has the row. When that one is deleted or has another key, this brings the discarded one back: "
        + "\(restore) --zone \(record.zone)"
    case .unknownTable, .untracked, .constraint:
      "On a machine whose table accepts the record, this brings it back: \(restore)"
    case .assetIncomplete: "On a machine that has its BLOB, this brings it back: \(restore)"
    case .parentElsewhere, .outsideShare:
      "This writes it again, in the zone in which the row that it refers to is then: \(restore)"
    default: "This brings it back: \(restore)"
    }
  }

  private func unknown(_ held: Set<String>) -> String {
    var ways: [String] = []
    for (table, fate) in gone.sorted(by: { $0.key < $1.key }) where held.contains(table) {
      ways.append("\(table) was synchronized here, and \(fate.said). \(fate.wayOut(of: table))")
    }
    let tables = Set(tables.filter(\.isHere).map(\.name))
    let unfit = held.intersection(tables).sorted()
    if !unfit.isEmpty {
      ways.append("Here with another key, and shown once they have theirs again: \(unfit.joined(separator: ", ")).")
    }
    let never = held.subtracting(gone.keys).subtracting(unfit)
    let tracked = never.intersection(here).sorted()
    let others = never.subtracting(adoptable).subtracting(here).sorted()
    if !never.isDisjoint(with: adoptable) { ways.append("mesh schema --apply creates the missing tables.") }
    if !tracked.isEmpty {
      ways.append("mesh track synchronizes the tables that are here (\(tracked.joined(separator: ", "))).")
    }
    if !others.isEmpty {
      ways.append(
        "Such a record is shown once a table of that name is here and tracked (\(others.joined(separator: ", "))).")
    }
    return ways.joined(separator: " ")
  }

  /// Returns the remedy for records outside a share. The device that wrote them may be right, because a table that is
  /// kept out of shares here may be shared elsewhere.
  private func outsideShare(_ held: Set<String>) -> String {
    let apart = tables.filter { held.contains($0.name) && !$0.isShareable }
    let (hidden, others) = (apart.filter(\.isPrivate).map(\.name), apart.filter { !$0.isPrivate }.map(\.name))
    var ways: [String] = []
    if !hidden.isEmpty {
      ways.append(
        "Private here, and so in no share: \(hidden.joined(separator: ", ")). To see the share's records, mesh untrack on each of "
          + "this account's devices, and then mesh track --shareable on each.")
    }
    if !others.isEmpty {
      ways.append(
        "In no share here, because the table has several foreign keys or refers to a table in no share: "
          + "\(others.joined(separator: ", ")). Their records are shown once the tables have the form that they have on the other machines."
      )
    }
    if held.count > apart.count {
      ways.append(
        "A participant wrote records into a share that don't belong to it, so no table shows them. mesh explain record says who."
      )
    }
    return ways.joined(separator: " ")
  }
}
