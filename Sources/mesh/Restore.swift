import ArgumentParser
import MeshNode

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Put back a value that was overwritten, or a record that was deleted.",
    discussion: """
      A deleted record comes back with all that it had last; of one that lives, the named columns get the value that they had \
      before, as mesh explain record shows it; with --conflict what lost in that conflict is put back, be it a value or a delete. \
      It is written as an edit of now, and goes to the other machines like any. It reads the whole log of the record's zone.

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
  @Option(name: .customLong("column"), help: "A column whose former value is to come back; may be given several times.")
  var columns: [String] = []
  @Flag(help: "Put back what went with the deleted record, because it refers to it, as well.") var descendants = false
  @Option(help: "The number of a conflict, as mesh conflicts shows it.") var conflict: Int64?

  func validate() throws {
    guard (conflict == nil) == (table != nil && key != nil),
      conflict == nil || table == nil && columns.isEmpty && !descendants
    else {
      throw ValidationError("Name a table and a key, or a conflict with --conflict.")
    }
  }

  func run() async throws {
    let request =
      conflict.map { RestoreRequest(conflict: $0) }
      ?? RestoreRequest(table: table ?? "", key: key ?? "", columns: columns, descendants: descendants)
    let report = try await home.access().withNode(.home) { try await $0.restore(request) }
    if json.isOn { return try Output.json(report) }
    let values = report.values.sorted { $0.key < $1.key }.map { ("  \($0.key)", Output.shortened($0.value)) }
    Output.facts([(report.deleted ? "deleted" : "restored", "\(report.table) \(report.key)")] + values)
    if report.descendants > 0 { Output.facts([("with it", report.descendants.counted("record", "records"))]) }
    if !report.lacking.isEmpty {
      Output.note("Not restored, since the table lacks them: \(report.lacking.joined(separator: ", ")).")
    }
    if !report.gone.isEmpty {
      Output.note(
        "Not restored, since their BLOBs were in the row alone, and are not here any more: \(report.gone.joined(separator: ", ")). "
          + "If another device or a backup has one, write it to the column.")
    }
    for awaited in report.waitsFor {
      Output.note(
        "It is held till \(awaited.table) \(awaited.key) is back: mesh restore \(awaited.table) \(awaited.key)")
    }
  }
}
