import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshCore
import MeshNode

struct ShareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Share a record, and everything that belongs to it, with other accounts.",
    discussion: """
      Examples:
        mesh share create lists groceries --title Groceries
        mesh share invite Groceries --permission read-write
        mesh share join -
        mesh share list
      You can abbreviate an id (control-7k2m): give at least 4 characters after the dash, and no other id may begin with them.
      """,
    subcommands: [
      Create.self, Rename.self, Invite.self, Join.self, Invites.self, Uninvite.self, SetPermission.self, Remove.self,
      Leave.self,
      Stop.self, List.self, Show.self, Receipt.self,
    ])

  static let need = NodeAccess.Need.daemon(because: "only a running daemon can tell the other members.")

  private static func role(_ share: ShareReport) -> String {
    share.stopped ? "\(share.role.rawValue), stopped" : share.role.rawValue
  }

  /// Warns of another share with the same title, which commands can't tell apart by it.
  static func warnOfTitle(_ share: ShareReport, _ access: NodeAccess) async throws {
    let others = try await access.perform(SharesRequest()).shares.filter {
      $0.title == share.title && $0.id != share.id && $0.role != .ended && !$0.stopped
    }
    guard let other = others.first else { return }
    let way = share.role == .owner ? " To give this one another title: mesh share rename \(share.id) TITLE" : ""
    Output.note(
      "Another share here is called “\(printable(share.title))” too: \(other.id). Commands need the id of one of them.\(way)"
    )
  }

  static func printed(_ share: ShareReport) {
    Output.facts([
      ("share", Output.named(share.id, share.title)), ("root", "\(share.table) \(share.key)"),
      ("owner", Output.named(share.owner, share.ownerName)), ("role", role(share)),
      ("records", "\(share.records)"), ("activity", share.lastActivity.map(ControlJSON.text) ?? "none"),
      ("epoch", share.epoch ?? "none"),
    ])
    if let reason = share.reason {
      Output.print("The share has ended here: \(printable(reason)).")
    } else if let reason = share.cannotWrite {
      Output.print("This machine can't write to the share: \(printable(reason)).")
    }
    if share.receipts > 0 { Output.print("\(Output.receipts(share.receipts, of: share.id)).") }
    var people = TextTable("ACCOUNT", "STATUS", "PERMISSION", "DEVICES")
    for one in share.participants {
      people.add(
        Output.named(one.account, one.name), one.status.rawValue, one.permission?.rawValue ?? "none",
        one.devices.map(\.name).sorted().joined(separator: ", "))
    }
    if !share.participants.isEmpty { Output.print(people.text) }
  }
}

extension ShareCommand {
  struct Rename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Rename a share.",
      discussion: """
        Only the owner can rename a share. Every member sees the new title.

        Example:
          mesh share rename Groceries \"Weekend shopping\"
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Argument(help: "The new title.") var title: String

    func run() async throws {
      try await ShareCommand.change(ShareChangeRequest(.rename, share: share, title: title), home, json)
    }
  }

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a share of a record.",
      discussion: """
        The record's table must have no foreign key. Records that refer to it by their table's only foreign key belong to the \
        share as well, now and later.

        Example:
          mesh share create lists groceries --title Groceries
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table of the root record.") var table: String
    @Argument(help: .key) var key: String
    @Option(help: "The share's title. (default: table and key)") var title: String?

    func run() async throws {
      let request = ShareCreateRequest(table: table, key: key, title: title)
      let access = try home.access()
      let report = try await access.perform(request, ShareCommand.need)
      if json.isOn { return try Output.json(report) }
      ShareCommand.printed(report)
      try await ShareCommand.warnOfTitle(report, access)
    }
  }

  struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print an invite with which another account can join.",
      discussion: """
        The last line printed is the invite. It admits one account, through this daemon. With --open it admits any number of \
        accounts, through any member's daemon. With --for, it admits only the named account. With both, any member's daemon \
        admits that account, also when it comes again after it has left. Keep the invite secret.

        Examples:
          mesh share invite Groceries --permission read-write
          mesh share invite Groceries --permission read-only --open --expires 7d
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or the beginning of it, or its title if only one share has it.") var share: String
    @Option(help: "read-only or read-write.") var permission: SharePermission
    @Option(
      parsing: .unconditional, help: "How long the invite works: 2h, 7d. (default: until you revoke it)",
      transform: ArgumentRule.expiry)
    var expires: Duration?
    @Option(parsing: .unconditional, help: "How many accounts it admits. (default: 1)", transform: ArgumentRule.number)
    var uses: UInt64?
    @Flag(help: "Admit any number of accounts, through any member.") var open = false
    @Option(
      name: .customLong("for"),
      help: "The only account that it admits. On a device of that account, mesh account show prints the id.")
    var account: String?

    func validate() throws {
      if uses == 0 { throw ValidationError("--uses is at least 1.") }
      if let uses, uses > 1 << 53 { throw ValidationError("--uses is at most 2^53: --open admits any number.") }
      if open, uses != nil { throw ValidationError("--open admits any number of accounts: leave --uses out.") }
    }

    func run() async throws {
      let request = ShareInviteRequest(
        share: share, permission: permission, expires: expires, uses: open ? nil : uses ?? 1, account: account)
      let report = try await home.access().perform(request, ShareCommand.need)
      if json.isOn { return try Output.json(report) }
      let revoke = "mesh share uninvite \(report.share) \(report.invite)"
      Output.facts([
        ("invite", report.invite), ("admits", "\(Self.admitted(report)), \(report.permission.rawValue)"),
        ("works until", report.expires.map { $0.ISO8601Format() } ?? "you revoke it (\(revoke))"),
        ("dials", report.addresses.joined(separator: ", ")),
      ])
      Output.print("On the other machine run: mesh share join -, and paste this line:")
      Output.print(report.link)
    }

    private static func admitted(_ report: ShareInviteReport) -> String {
      if let account = report.account { return account }
      guard let uses = report.uses else { return "any number of accounts" }
      return uses == 1 ? "one account" : "\(uses) accounts"
    }
  }

  struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Join a share with an invite.",
      discussion: """
        Shows the offer, asks, and returns once this account is a member and the share's records are here. After 60 s, or if \
        no more of them come for 3 s, the node goes on in the background. If a member answers that only another device can \
        admit this account, the command waits for that device. Then create missing tables with mesh schema --apply. --json \
        needs --yes, because it can't ask.

        Examples:
          mesh share join -
          mesh share join - --yes < invite.txt
          mesh share join - --peer second.example:7404
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: ArgumentHelp("The invite; - reads it from standard input.", valueName: "invite")) var link: String
    @Flag(help: "Join without asking.") var yes = false
    @Option(
      name: .customLong("peer"), help: "The address of another member, beside those in the invite: HOST:PORT.",
      transform: ArgumentRule.address)
    var peers: [HostPort] = []

    func validate() throws {
      if json.isOn, !yes { throw ValidationError("--json can't ask: add --yes.") }
    }

    /// The time between two attempts while the admitting device is away.
    private static let pause = Duration.seconds(2)

    func run() async throws {
      let (link, peers) = (try Input.invite(link, printedBy: "mesh share invite"), peers.map(\.description))
      let access = try home.access()
      if !yes {
        let offer = try await access.perform(
          ShareJoinRequest(link: link, claims: false, peers: peers), ShareCommand.need)
        if offer.state == .offered, !askToJoin(offer) {
          Output.note("Not joined.")
          throw ExitCode(ExitStatus.no.rawValue)
        }
      }
      var told = false
      while true {
        let report = try await access.perform(
          ShareJoinRequest(link: link, claims: true, peers: peers), ShareCommand.need)
        guard report.state == .waiting else {
          if json.isOn {
            try await access.filled("receiving the share's records")
            return try Output.json(report)
          }
          if report.wasMember, !told {
            Output.note("This account is a member already. The invite changes nothing, not even the permission.")
          }
          warn(of: report)
          try await access.filled("receiving the share's records")
          // The owner's name comes with the records.
          let share = try? await access.perform(ShareRequest(share: report.share))
          Output.facts([
            ("joined", Output.named(report.share, report.title)),
            ("owner", Output.named(report.owner, share?.ownerName ?? report.ownerName)),
            ("permission", report.permission?.rawValue ?? ""),
          ])
          if let share { try await ShareCommand.warnOfTitle(share, access) }
          return try await warnOfTables(of: report, access)
        }
        if !told { Output.note("waiting: \(printable(report.reason ?? ""))") }
        told = true
        try await Task.sleep(for: Self.pause)
      }
    }

    private func warn(of report: ShareJoinReport) {
      if let rival = report.rival {
        Output.note(
          "Another share here, \(rival), has the same root record. Only one of the two is shown, and the other's rows are held "
            + "(mesh held lists them). To see them, leave the share that you don't want: mesh share leave SHARE")
        return
      }
      guard report.isRootTaken else { return }
      let record = printable("\(report.table ?? "") \(report.key ?? .null)")
      Output.note(
        "This database has a record of its own at \(record), so the share's record is held (mesh doctor names it). "
          + "To see the share's, delete your record and those that belong to it.")
    }

    private func warnOfTables(of report: ShareJoinReport, _ access: NodeAccess) async throws {
      guard let root = report.table else { return }
      func isRoot(_ table: String) -> Bool { table.folded == root.folded }
      let missing = try await access.withNode(.home) { node -> [String]? in
        guard try await !node.perform(StatusRequest()).tables.contains(where: isRoot) else { return nil }
        let deadline = ContinuousClock.now + Self.schemaPatience
        while true {
          let missing = try await node.perform(SchemaRequest()).missing.map(\.table)
          if missing.contains(where: isRoot) { return missing }
          if ContinuousClock.now >= deadline { return [root] }
          try await Task.sleep(for: Self.look)
        }
      }
      guard let missing else { return }
      Output.note(
        "The share's tables are missing here, or not tracked (\(printable(missing.joined(separator: ", ")))). "
          + "To see its records: mesh schema --apply")
    }

    /// The time for a member to describe its tables after it connected, which is a moment after joining.
    private static let schemaPatience = Duration.seconds(5)
    private static let look = Duration.milliseconds(50)

    private func askToJoin(_ offer: ShareJoinReport) -> Bool {
      Output.facts([
        ("share", Output.named(offer.share, offer.title)),
        ("owner", Output.named(offer.owner, offer.ownerName)),
        ("record", "\(offer.table ?? "") \(offer.key ?? .null), and what refers to it"),
        ("permission", offer.permission?.rawValue ?? ""),
      ])
      warn(of: offer)
      return Input.ask("Join?")
    }
  }

  struct Invites: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a share's invites.", discussion: "Example:\n  mesh share invites Groceries")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String

    func run() async throws {
      let report = try await Show.report(share, home)
      if json.isOn { return try Output.json(["invites": report.invites]) }
      var table = TextTable("INVITE", "PERMISSION", "STATE", "USES LEFT", "EXPIRES", "FOR")
      for invite in report.invites {
        table.add(
          invite.id, invite.permission.rawValue, invite.state.rawValue, invite.usesLeft.map { "\($0)" } ?? "any",
          invite.expires?.ISO8601Format() ?? "never", invite.account ?? "anybody")
      }
      Output.print(table.text)
    }
  }

  struct Uninvite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke an invite permanently. Accounts that it admitted stay.",
      discussion: "Example:\n  mesh share uninvite Groceries control-…")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Argument(help: "The invite's id.") var invite: String

    func run() async throws {
      try await ShareCommand.change(ShareChangeRequest(.uninvite, share: share, invite: invite), home, json)
    }
  }

  struct SetPermission: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a participant read-only or read-write.",
      discussion: """
        After a change to read-only, every device rejects writes by that account that this node has not merged yet.

        Examples:
          mesh share set-permission Groceries account-… read-only
          mesh share set-permission Groceries bob read-write
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Argument(help: "The account's id or name, or the name of one of its devices.") var account: String
    @Argument(help: "read-only or read-write.") var permission: SharePermission

    func run() async throws {
      let request = ShareChangeRequest(.setPermission, share: share, account: account, permission: permission)
      try await ShareCommand.change(request, home, json)
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove an account from a share, and revoke the invite that it used.",
      discussion: """
        The account's devices lose the rows. Every device rejects writes by the account that this node has not merged yet. To \
        invite it again, make an invite for it alone: mesh share invite --for.

        --undo also reverts everything that the account ever wrote to the share, on every device, and frees the space that it \
        took. You can use it later, for an account that was removed before.

        Examples:
          mesh share remove Groceries account-…
          mesh share remove --undo Groceries account-…
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Argument(help: "The account's id or name, or the name of one of its devices.") var account: String
    @Flag(help: "Revert everything that the account ever wrote to the share.") var undo = false

    func run() async throws {
      try await ShareCommand.change(ShareChangeRequest(.remove, share: share, account: account, undo: undo), home, json)
    }
  }

  struct Leave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Leave a share. This account's devices lose its rows.",
      discussion: """
        If you have read-write permission, you can also leave by deleting the root record. If you kept a copy, delete it before \
        you join again: the copy has the rows.

        mesh refuses to leave as long as no device of the share's owner has all BLOBs that the account wrote. mesh \
        wait waits for them. --force leaves at once: the others never get the rest, and mesh share receipt has the BLOBs, up \
        to 64 MiB for each row.

        Examples:
          mesh share leave Groceries
          mesh share leave Groceries --keep-copy
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Flag(help: "Keep the rows, as private records.") var keepCopy = false
    @Flag(name: .customLong("force"), help: "Leave even if BLOBs that this account wrote have not arrived.")
    var isForced = false

    func run() async throws {
      try await ShareCommand.change(
        ShareChangeRequest(.leave, share: share, keepCopy: keepCopy, force: isForced), home, json)
    }
  }

  struct Stop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End a share for all other accounts. Its records are private again.",
      discussion: "Example:\n  mesh share stop Groceries")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String

    func run() async throws { try await ShareCommand.change(ShareChangeRequest(.stop, share: share), home, json) }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the shares that this account owns or has joined.",
      discussion: "Example:\n  mesh share list --json")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Flag(help: "Include shares that were stopped or left, or that this account was removed from. --json always does.")
    var all = false

    func run() async throws {
      let report = try await home.access().perform(SharesRequest())
      if json.isOn { return try Output.json(report) }
      var table = TextTable("SHARE", "TITLE", "ROLE", "RECORDS", "PARTICIPANTS")
      let shown = report.shares.filter { all || $0.role != .ended && !$0.stopped }
      for share in shown {
        let members = share.participants.filter { $0.permission != nil }.count
        table.add(
          share.id, share.title, ShareCommand.role(share), "\(share.records)", "\(members)")
      }
      Output.print(table.text)
      let over = report.shares.count - shown.count
      if over > 0 {
        Output.print(
          "\(over.counted("share that has ended is", "shares that have ended are")) not shown: --all shows them.")
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a share with its participants.", discussion: "Example:\n  mesh share show Groceries")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String

    func run() async throws {
      let report = try await Self.report(share, home)
      if json.isOn { return try Output.json(report) }
      ShareCommand.printed(report)
    }

    static func report(_ share: String, _ home: HomeOption) async throws -> ShareReport {
      try await home.access().perform(ShareRequest(share: share))
    }
  }

  struct Receipt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show writes made here that are not in the share.",
      discussion: """
        If your permission was lowered while this device was offline, every device rejects what it wrote meanwhile. If you left, \
        were removed, or the share ended, the owner's devices may lack your last writes. mesh keeps such writes here as \
        receipts. Long texts and BLOBs are shortened; --json has them whole. Once the account is read-write again, --restore \
        writes them to the tables again, over what others wrote meanwhile. --discard forgets the receipts.

        A copy that you kept of the share has your last writes as well. It is in the way of --restore and of \
        joining again: save what only the copy has, and delete it.

        Examples:
          mesh share receipt Groceries --json
          mesh share receipt Groceries --restore
          mesh share receipt Groceries --json > refused.json && mesh share receipt Groceries --discard
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The share's id or title.") var share: String
    @Flag(help: "Write them to the tables again, as new edits.") var restore = false
    @Flag(help: "Forget them. The values are nowhere else.") var discard = false

    func validate() throws {
      if restore && discard { throw ValidationError("Give --restore or --discard, not both.") }
    }

    func run() async throws {
      let request = ShareReceiptRequest(share: share, restore: restore, discard: discard)
      let report = try await home.access().perform(request)
      if json.isOn { return try Output.json(report) }
      if restore { Output.print("Restored \(report.restored.counted("record", "records")).") }
      if !report.inTheWay.isEmpty {
        let records = report.inTheWay.map { printable("\($0.table) \($0.key)") }.joined(separator: ", ")
        Output.note(
          "Not everything was restored: records that are not in the share are in the way (\(records)). If they are a copy that "
            + "you kept of the share, delete them, and use --restore again. Otherwise look at the receipts with --json."
        )
      } else if restore, !report.receipts.isEmpty {
        Output.note(
          "Not everything was restored. A receipt stays if the row that it refers to is not here: if you have just joined again, "
            + "use --restore again when the share's rows are here. It also stays if its row was deleted or moved out of the share "
            + "meanwhile, or if its table is missing or refuses the write. Write such rows yourself, and forget the receipts with "
            + "--discard."
        )
      }
      if discard { Output.print("Discarded \(report.discarded.counted("receipt", "receipts")).") }
      if report.receipts.isEmpty {
        return Output.print(restore || discard ? "Nothing is left." : "No receipts.")
      }
      var table = TextTable("NOTED", "TABLE", "KEY", "REASON", "COLUMN", "VALUE")
      for one in report.receipts {
        let values = (one.values ?? [:]).sorted { $0.key < $1.key }
        let head = (one.noted.ISO8601Format(), one.table, "\(one.key)", Self.name(one.reason))
        let first =
          values.first.map { ($0.key, Output.shortened($0.value)) } ?? (one.values == nil ? "deleted" : "", "")
        table.add(head.0, head.1, head.2, head.3, first.0, first.1)
        for (column, value) in values.dropFirst() { table.add("", "", "", "", column, Output.shortened(value)) }
      }
      Output.print(table.text)
      for reason in Set(report.receipts.map(\.reason)).sorted(by: { $0.rawValue < $1.rawValue }) {
        Output.print("\(Self.name(reason)): \(Self.meaning(reason))")
      }
    }

    private static func name(_ reason: ShareReceiptReport.Receipt.Reason) -> String {
      switch reason {
      case .notPermitted: "not-permitted"
      case .cut: "not-confirmed"
      }
    }

    private static func meaning(_ reason: ShareReceiptReport.Receipt.Reason) -> String {
      switch reason {
      case .notPermitted:
        "when this device was about to send it, the share was read-only for the account, or had ended."
      case .cut:
        "the account lost the permission, or the share ended for it, before the owner's devices had confirmed this "
          + "write. If the account joins again and the share has the write after all, mesh deletes the receipt."
      }
    }
  }

  fileprivate static func change(_ request: ShareChangeRequest, _ home: HomeOption, _ json: JSONFlag) async throws {
    let access = try home.access()
    let report = try await access.perform(request, need)
    if json.isOn { return try Output.json(report) }
    printed(report)
    if request.act == .rename { try await warnOfTitle(report, access) }
  }
}
