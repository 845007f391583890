import ArgumentParser
import MeshControl
import MeshCore
import MeshNode

struct AssetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "asset",
    abstract: "Show the BLOBs that rows wait for, and choose which ones this machine keeps.",
    discussion: """
      A BLOB of more than 16 KiB travels beside the change sets, in chunks, from every device that has it. Its row doesn't wait: \
      the column keeps its former value until the BLOB is complete.

      Examples:
        mesh asset list
        mesh asset show photos p1
        mesh asset policy photos on-demand
        mesh asset list --json | jq '.waiting[] | select(.reason)'
      """, subcommands: [List.self, Show.self, Fetch.self, Evict.self, Policy.self], defaultSubcommand: List.self)

  /// The record, and optionally the column, of a BLOB.
  struct Place: ParsableArguments {
    @Argument(help: "The table.") var table: String
    @Argument(help: .key) var key: String
    @Argument(help: "The column. Without it: every column with a long BLOB.") var column: String?
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the BLOBs that rows wait for, and how much of each is here.",
      discussion: """
        Example:
          mesh asset list --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().perform(AssetsRequest())
      if json.isOn { return try Output.json(report) }
      if report.waiting.isEmpty { return Output.print("Every row has its BLOBs.") }
      AssetCommand.list(report.waiting, isComplete: report.complete)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: """
        Show the state of a record's BLOBs: how much is here, which device sends it, which device wrote it, and which one had \
        part of it when it left.
        """,
      discussion: """
        Example:
          mesh asset show photos p1 image
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @OptionGroup var place: Place

    func run() async throws {
      let request = AssetShowRequest(table: place.table, key: place.key, column: place.column)
      let report = try await home.access().perform(request)
      try AssetCommand.show(report, json)
    }
  }

  struct Fetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Download the BLOBs of a record, or of all rows of a table, and wait for them.",
      discussion: """
        Downloads BLOBs that are set to on-demand or were evicted. The download continues after the timeout. Without a key, \
        downloads all BLOBs that rows of the table wait for now. Later BLOBs follow the table's policy.

        Exit code 0: the BLOBs are here; 1: not in time, or this machine can't store one (then it returns at once, with the \
        reason).

        Examples:
          mesh asset fetch photos p1 --timeout 10m
          mesh asset fetch photos --timeout 2h
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table.") var table: String
    @Argument(help: "The primary key, as in mesh asset show. Without it: all rows.") var key: String?
    @Argument(help: "The column. Without it: every column with a long BLOB.") var column: String?
    @OptionGroup var timeout: TimeoutOption

    func run() async throws {
      let fetching = AssetFetchRequest(table: table, key: key, column: column)
      let (state, limit) = (AssetShowRequest(table: table, key: key, column: column), timeout.duration)
      // This is the time between two checks. A check of a table takes longer.
      let look = Duration.milliseconds(key == nil ? 1_000 : 200)
      let need = NodeAccess.Need.daemon(because: "only a running daemon downloads BLOBs.")
      let report = try await home.access().withNode(need) { node in
        try await ProgressLine.during("fetching", detail: { await Self.progress(node, state) }) {
          let deadline = ContinuousClock.now + limit
          var report = try await node.perform(fetching)
          while Self.isComing(report), ContinuousClock.now < deadline {
            try await Task.sleep(for: look)
            report = try await node.perform(state)
          }
          return report
        }
      }
      if key != nil || json.isOn {
        try AssetCommand.show(report, json)
      } else if report.assets.isEmpty {
        Output.print("Every row of \(table) has its BLOBs.")
      } else {
        AssetCommand.list(report.assets, isComplete: report.complete)
      }
      // BLOBs that were written to the table in the meantime follow its policy.
      let isHere = report.assets.allSatisfy {
        $0.state == .here || key == nil && ($0.state == .onDemand || $0.state == .evicted)
      }
      if !isHere { throw ExitCode(ExitStatus.no.rawValue) }
    }

    /// Returns whether BLOBs may still arrive. Waiting doesn't help for a BLOB that can't be stored or whose record is
    /// held.
    private static func isComing(_ report: AssetReport) -> Bool {
      !report.complete || report.assets.contains { $0.state == .coming || $0.state == .absent }
    }

    private static func progress(_ node: any NodeControl, _ request: AssetShowRequest) async -> String? {
      guard let report = try? await node.perform(request) else { return nil }
      if request.key == nil {
        let (here, size) = report.assets.reduce((0, 0)) { ($0.0 + $1.here, $0.1 + $1.size) }
        let count = report.assets.count.counted("BLOB", "BLOBs")
        return
          "\(report.complete ? "" : "more than ")\(count) to come, \(here.asBytes) of \(size.asBytes) here"
      }
      return report.assets.filter { $0.state != .here }
        .map { "\($0.column) \(AssetCommand.progress($0))\($0.reason.map { ", \($0)" } ?? "")" }
        .joined(separator: "; ")
    }
  }

  struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove the BLOBs of a record from this file. Other devices keep theirs.",
      discussion: """
        The row then shows NULL in the column, or the column's default. mesh sends nothing about that to other devices. It removes \
        the BLOB from all rows that show the same bytes, and stops its download. mesh asset fetch downloads it again. A new \
        version of the BLOB follows the table's policy. SQLite uses the space again; VACUUM makes the file shorter.

        Another connected device of your account, or of the share's owner, must have the whole BLOB. --force evicts it \
        without one, and then it may be lost.

        Example:
          mesh asset evict films f1
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @OptionGroup var place: Place
    @Flag(name: .customLong("force"), help: "Evict it even if no connected device has it.") var isForced = false

    func run() async throws {
      let request = AssetEvictRequest(
        table: place.table, key: place.key, column: place.column, force: isForced)
      let need = NodeAccess.Need.daemon(because: "only a running daemon can ask which other devices have it.")
      let report = try await home.access().perform(request, need)
      try AssetCommand.show(report, json)
    }
  }

  struct Policy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show or set which tables' BLOBs this node downloads.",
      discussion: """
        always: as soon as they are known; on-demand: when you run mesh asset fetch. The policy is a setting of this node. It \
        applies from now on, so BLOBs that are here stay. If a row can't be shown without its BLOB, mesh downloads it in any case.

        Examples:
          mesh asset policy
          mesh asset policy films on-demand
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table. Without it: all tables.") var table: String?
    @Argument(help: "always or on-demand.") var policy: AssetPoliciesReport.Policy?

    func run() async throws {
      let access = try home.access()
      let report =
        if let table, let policy {
          try await access.perform(AssetPolicyRequest(table: table, policy: policy))
        } else {
          try await access.perform(AssetPoliciesRequest())
        }
      if json.isOn { return try Output.json(report) }
      var text = TextTable("TABLE", "POLICY")
      for (name, policy) in report.policies.sorted(by: { $0.key < $1.key })
      where table.map({ $0.folded == name.folded }) ?? true {
        text.add(name, policy.rawValue)
      }
      if let table, !report.policies.keys.contains(where: { $0.folded == table.folded }) {
        return Output.print("\(printable(table)) is not tracked. Add it: mesh track \(printable(table))")
      }
      Output.print(report.policies.isEmpty ? "No table is tracked. Add one: mesh track TABLE" : text.text)
    }
  }

  // MARK: Texts

  fileprivate static func list(_ items: [AssetsReport.Item], isComplete: Bool) {
    var table = TextTable("TABLE", "KEY", "COLUMN", "STATE", "HERE", "OF", "SPEED", "DETAIL")
    for item in items {
      table.add(
        item.table, Output.shortened(item.key), item.column, item.state.rawValue, percent(item),
        item.size.asBytes, item.speed > 0 ? "\(item.speed.asBytes)/s" : "", item.reason ?? "")
    }
    Output.print(table.text)
    if !isComplete { Output.print("There are more than these \(items.count).") }
  }

  private static func show(_ report: AssetReport, _ json: JSONFlag) throws {
    if json.isOn { return try Output.json(report) }
    for (index, item) in report.assets.enumerated() {
      if index > 0 { Output.print("") }
      Output.facts(facts(item))
    }
  }

  private static func facts(_ item: AssetsReport.Item) -> [(String, String)] {
    var facts = [
      ("BLOB", "\(item.table) \(Output.shortened(item.key)), \(item.column)"), ("id", item.asset),
      ("state", item.reason.map { "\(item.state.rawValue): \($0)" } ?? item.state.rawValue),
      ("here", progress(item)), ("zone", item.zone),
    ]
    if !item.sources.isEmpty { facts.append(("from", item.sources.map(named).joined(separator: ", "))) }
    if let writer = item.writtenBy { facts.append(("written by", named(writer))) }
    if let source = item.lastSource {
      facts.append(
        ("partly on", "\(Output.named(source.device, source.name)), until it left at \(ControlJSON.text(source.left))"))
    }
    return facts
  }

  private static func named(_ device: AssetsReport.Device) -> String { Output.named(device.device, device.name) }

  private static func percent(_ item: AssetsReport.Item) -> String { "\(item.here * 100 / max(1, item.size)) %" }

  fileprivate static func progress(_ item: AssetsReport.Item) -> String {
    var text = "\(item.here.asBytes) of \(item.size.asBytes) (\(percent(item)))"
    if item.speed > 0 { text += ", \(item.speed.asBytes)/s" }
    if let left = item.secondsLeft { text += ", \(Int(left.rounded(.up))) s left" }
    return text
  }
}
