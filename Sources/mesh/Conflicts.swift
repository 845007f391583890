import ArgumentParser
import Foundation
import MeshControl
import MeshNode

struct Conflicts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the values that lost against a concurrent one.",
    discussion: """
      If two devices write the same column of the same record, and neither has seen the other's value, the table has the later \
      value. If one device deletes the record, it has none. This machine keeps the value that lost: mesh restore --conflict puts \
      it back, by the number in the first column. If another device replaced the kept value later, the list has the value of \
      now, and in a third line the write to which the other value lost.

      The list belongs to this machine. Another machine lists the conflicts that it has seen: it has none if it received both \
      values in order.

      A value that is marked “imported” is one that nobody edited: it was in the file before its table was tracked, or a \
      migration filled it in. It loses against every edit.

      mesh conflicts list --help shows how to select conflicts. dismiss takes those off the list whose lost values nobody wants.

      A BLOB that is marked “not here” can be restored on another machine that had it: mesh restore TABLE KEY --column.

      Examples:
        mesh conflicts
        mesh conflicts --table notes --since 2d
        mesh conflicts --limit 50 --after 1200
        mesh conflicts --json
        mesh conflicts dismiss 12 13
      """, subcommands: [List.self, Dismiss.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the conflicts, the newest first.",
      discussion: """
        Examples:
          mesh conflicts list --table notes --since 2d
          mesh conflicts list --dismissed --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Option(help: "Only this table.") var table: String?
    @Option(help: "Only this zone: its id or the beginning of it, or its name in mesh zones.") var zone: String?
    @Option(help: "Only values that this device wrote or overwrote: its name or id.") var device: String?
    @Option(
      parsing: .unconditional, help: "Only conflicts found in this time: 90s, 15m, 2h, 7d.",
      transform: Duration.init(text:))
    var since: Duration?
    @Option(
      parsing: .unconditional, help: "How many are shown, at most 1000. (default: 100)", transform: ArgumentRule.number)
    var limit = 100
    @Option(
      parsing: .unconditional, help: "Continue after this number: the last one of the page before.",
      transform: ArgumentRule.number)
    var after: Int64?

    @Flag(help: "Show the dismissed conflicts as well.") var dismissed = false

    func validate() throws {
      guard (1...ConflictsRequest.pageSize).contains(limit) else {
        throw ValidationError("--limit is between 1 and \(ConflictsRequest.pageSize).")
      }
    }

    func run() async throws {
      let request = ConflictsRequest(
        table: table, zone: zone, device: device,
        since: since.map { Date(timeIntervalSinceNow: -Double($0.components.seconds)) }, after: after, limit: limit,
        dismissed: dismissed ? true : nil)
      let report = try await home.access().perform(request)
      if json.isOn { return try Output.json(report) }
      defer { if report.dismissed > 0 { Output.note(note(report.dismissed)) } }
      let others = report.dropped.counted("other", "others")
      let dropped = report.dropped == 0 ? nil : "this file no longer keeps \(others)."
      if report.conflicts.isEmpty {
        let none = report.total == 0 ? "No conflicts" : "No more conflicts"
        return Output.print(dropped.map { "\(none); \($0)" } ?? "\(none).")
      }
      Output.print(Conflicts.table(report.conflicts).text)
      guard let next = report.next else {
        let rest = dropped ?? "there are no older ones."
        return Output.print("\(report.conflicts.count) of \(report.total) conflicts; \(rest)")
      }
      Output.print("\(report.conflicts.count) of \(report.total) conflicts. For older ones: \(again) --after \(next)")
    }

    /// The command as it was given, without its page.
    private var again: String {
      var words = ["mesh conflicts"]
      if let table { words.append("--table '\(table)'") }
      if let zone { words.append("--zone '\(zone)'") }
      if let device { words.append("--device '\(device)'") }
      if let since { words.append("--since \(since.components.seconds)s") }
      if dismissed { words.append("--dismissed") }
      if limit != 100 { words.append("--limit \(limit)") }
      return words.joined(separator: " ")
    }

    private func note(_ count: Int) -> String {
      "\(count.counted("dismissed conflict is", "dismissed conflicts are")) not listed: mesh conflicts --dismissed."
    }
  }

  struct Dismiss: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take conflicts off the list whose lost values nobody wants.",
      discussion: """
        The list belongs to this machine, so the other machines still have the conflicts on theirs. mesh still keeps the values \
        here: mesh conflicts --dismissed shows them, and mesh restore --conflict restores them.

        Examples:
          mesh conflicts dismiss 12 13
          mesh conflicts dismiss --through 13
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The numbers of the conflicts.", transform: ArgumentRule.number) var numbers: [Int64] = []
    @Option(
      parsing: .unconditional, help: "Every conflict up to this number. For all, give the first number on the list.",
      transform: ArgumentRule.number)
    var through: Int64?

    func validate() throws {
      guard numbers.isEmpty == (through != nil) else {
        throw ValidationError("Give the numbers of the conflicts, or --through NUMBER.")
      }
    }

    func run() async throws {
      let request = through.map(DismissRequest.init(through:)) ?? DismissRequest(conflicts: numbers)
      let report = try await home.access().perform(request)
      if json.isOn { return try Output.json(report) }
      Output.print("\(report.dismissed.counted("conflict is", "conflicts are")) dismissed.")
    }
  }

  private static func table(_ conflicts: [ConflictReport]) -> TextTable {
    var table = TextTable("NUMBER", "TABLE", "KEY", "COLUMN", "", "VALUE", "BY", "WRITTEN")
    for conflict in conflicts {
      let (winner, loser) = (conflict.winner, conflict.loser)
      let replaced = conflict.lostTo.flatMap { $0.device == winner.device ? nil : $0 }
      table.add(
        "\(conflict.id)", conflict.table, "\(conflict.key)", conflict.column ?? "", replaced == nil ? "kept" : "now",
        kept(conflict), winner.reverted ? "" : winner.deviceName ?? winner.device,
        winner.reverted ? "" : written(winner))
      table.add(
        conflict.dismissed ? "dismissed" : "", "", "", "", "lost",
        conflict.column == nil ? "(deleted)" : "\(loser.value)\(loser.bytesHere == false ? ", not here" : "")",
        loser.deviceName ?? loser.device, written(loser))
      if let replaced {
        table.add(
          "", "", "", "", "to", conflict.column == nil ? "an edit" : "a value that was replaced later",
          replaced.deviceName ?? replaced.device, written(replaced.written))
      }
    }
    return table
  }

  private static func kept(_ conflict: ConflictReport) -> String {
    if conflict.column == nil { return "the record" }
    if conflict.winner.reverted { return "no record: it was reverted" }
    return conflict.winner.deleted ? "(deleted)" : "\(conflict.winner.value)"
  }

  private static func written(_ side: ConflictReport.Side) -> String {
    side.imported ? "\(written(side.written)) (imported)" : written(side.written)
  }

  private static func written(_ time: Date?) -> String { time.map(ControlJSON.text) ?? "before it was tracked" }
}
