import ArgumentParser
import MeshControl
import MeshNode

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Restore a value that was overwritten, or a record that was deleted.",
    discussion: """
      A deleted record comes back with its last values. --descendants also restores the records that were deleted with it, \
      even if a program has inserted the record again. If several zones had a record with the key, --zone says which one. \
      With --column, the named columns of a live record get their former values, as mesh explain record shows them. With \
      --conflict, the value or the delete that lost in a conflict comes back. A restore is an edit of now and goes to the \
      other machines. It reads the whole log of the record's zone.

      Examples:
        mesh restore notes n1
        mesh restore lists l1 --descendants
        mesh restore notes n1 --column text --column stars
        mesh restore --conflict 12
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag
  @Argument(help: "The table.") var table: String?
  @Argument(help: .key) var key: String?
  @Option(name: .customLong("column"), help: "A column whose former value to restore. Repeatable.")
  var columns: [String] = []
  @Flag(help: "Also restore the records that were deleted with it because they referred to it.") var descendants = false
  @Option(help: "The zone of the record: its id or the beginning of it, or its name in mesh zones.") var zone: String?
  @Option(
    parsing: .unconditional, help: "The number of a conflict, as mesh conflicts shows it.",
    transform: ArgumentRule.number)
  var conflict: Int64?

  func validate() throws {
    guard (conflict == nil) == (table != nil && key != nil),
      conflict == nil || table == nil && columns.isEmpty && !descendants && zone == nil
    else {
      throw ValidationError("Name a table and a key, or a conflict with --conflict.")
    }
  }

  func run() async throws {
    let request =
      conflict.map { RestoreRequest(conflict: $0) }
      ?? RestoreRequest(table: table ?? "", key: key ?? "", columns: columns, descendants: descendants, zone: zone)
    let report = try await home.access().perform(request)
    if json.isOn { return try Output.json(report) }
    let values = report.values.sorted { $0.key < $1.key }.map { ("  \($0.key)", Output.shortened($0.value)) }
    let done = report.unchanged ? "unchanged" : report.deleted ? "deleted" : "restored"
    Output.facts([(done, "\(report.table) \(report.key)")] + values)
    if descendants {
      let count = report.descendants.counted("record", "records")
      Output.facts([report.unchanged ? ("restored", "\(count) that had been deleted with it") : ("with it", count)])
    }
    if !report.lacking.isEmpty {
      Output.note("Not restored, because the table lacks these columns: \(report.lacking.joined(separator: ", ")).")
    }
    if !report.gone.isEmpty {
      Output.note(
        "Not restored, because this machine does not have the bytes of their BLOBs: \(report.gone.joined(separator: ", ")). "
          + "On a machine that had them, run mesh restore \(report.table) \(report.key.argument) "
          + report.gone.map { "--column \($0)" }.joined(separator: " ") + ".")
    }
    for awaited in report.waitsFor {
      Output.note(
        "It is held until \(awaited.table) \(awaited.key) is back: mesh restore \(awaited.table) \(awaited.key.argument)"
      )
    }
  }
}
