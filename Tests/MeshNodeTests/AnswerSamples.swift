import Foundation
import MeshControl
import MeshNode

/// Answers of each kind: one sample with a value in every field, and another without the values that may be unknown.
enum AnswerSamples {
  static let when = Date(timeIntervalSince1970: 1_790_000_000.125)
  static let missing = LackingAssets(
    coming: .init(assets: 2, bytes: 637_856), absent: .init(assets: 1, bytes: 80_000_000))

  static let peer = PeerReport(
    device: "device-2", account: "account-1", name: "laptop", address: "127.0.0.1:1", incoming: "127.0.0.1:2",
    connected: true,
    behind: .init(here: 1, there: 2), assets: missing, lastError: "closed", acknowledgedZones: ["zone-1"])
  static let unknownPeer = PeerReport(
    device: nil, account: nil, name: nil, address: nil, connected: false, behind: .init(here: 0, there: 0),
    lastError: nil)
  static let zones = [ZoneRole.owner, .readWrite, .readOnly].map {
    ZoneReport(
      id: "zone-1", name: "private", owner: "account-1", role: $0, records: 7, vector: ["device-1.1": 3], digest: "ab")
  }
  static let item = AssetsReport.Item(
    asset: "asset-1", size: 900_000, here: 262_144, zone: "zone-1", table: "photos", key: .text("p1"), column: "image",
    state: .coming, reason: "slow", sources: [.init(device: "device-2", name: "laptop")], speed: 100_000,
    secondsLeft: 6.5, writtenBy: .init(device: "device-2", name: nil),
    lastSource: .init(device: "device-2", name: "laptop", left: when))

  static let status = StatusReport(
    running: true, account: "account-1", accountName: "alice", device: "device-1", deviceName: "tower", instance: "1f",
    database: "/n.db", listen: "127.0.0.1:7404", tables: ["notes"], pending: 4, held: ["missing-parent": 2],
    work: [
      .init(task: .takeIn, table: "notes", done: 1, total: 2),
      .init(task: .compare, table: "notes", done: 1, total: 2),
      .init(task: .recall, table: "notes", done: 1, total: 2), .init(task: .show, table: nil, done: 1, total: 2),
    ],
    receipts: ["zone-2": 1], ended: ["zone-3": "stopped"], assets: missing,
    fetching: .init(
      assets: 2, size: 900_000, here: 262_144, sources: [.init(device: "device-2", name: "laptop")],
      stuck: [.init(state: .stuck, reason: "full", assets: 1, size: 9)]),
    keptBlobs: .init(bytes: 20_000, limit: 1 << 30),
    quotas: [
      .init(
        account: "account-2", accountName: "phone", share: "zone-2", shareName: "list", what: .names, used: 9, limit: 16
      )
    ]
      + [QuotaReport.What.authors, .controlRecords, .controlBytes, .waitingBytes, .policies].map {
        .init(account: "account-2", accountName: nil, share: nil, shareName: nil, what: $0, used: 9, limit: 16)
      },
    alarms: ["Look."], warnings: ["Note."], zones: zones, peers: [peer])

  static let hold = HoldReport(
    reason: "constraint", message: "CHECK failed", since: when,
    waitsFor: [
      .init(table: "lists", key: .text("l1"), zone: "zone-2"), .init(table: "lists", key: .integer(7), zone: nil),
    ],
    refused: [.init(column: "a", merged: .real(1.5), shown: .blob([0, 255]), inTable: true)], wayOut: "Wait.")
  static let device = DevicesReport.Device(
    device: "device-1", name: "tower", isThis: true, certified: when, revoked: when, isAdministrator: true,
    isUnconfirmed: true)
  static let share = ShareReport(
    id: "zone-2", title: "list", table: "lists", key: .text("a"), owner: "account-1", role: .owner, stopped: true,
    reason: "stopped", cannotWrite: "revoked", records: 3, epoch: "epoch-1", lastActivity: when,
    receipts: 2,
    participants: [
      .init(
        account: "account-2", name: "bob", status: .accepted, permission: .readOnly,
        devices: [.init(device: "device-3", name: "van")]),
      .init(account: "account-3", status: .accepted, permission: .readWrite, devices: []),
      .init(account: "account-4", status: .removed, permission: nil, devices: []),
      .init(account: "account-5", status: .left, permission: nil, devices: []),
    ],
    invites: [
      .init(id: "control-1", permission: .readOnly, state: .open, usesLeft: 1, expires: when, account: "account-2"),
      .init(id: "control-2", permission: .readWrite, state: .used, usesLeft: 0, expires: nil, account: nil),
      .init(id: "control-3", permission: .readWrite, state: .expired, usesLeft: nil, expires: nil, account: nil),
      .init(id: "control-4", permission: .readWrite, state: .revoked, usesLeft: nil, expires: nil, account: nil),
    ])
  static let roles = [ShareReport.Role.readWrite, .readOnly, .ended].map {
    ShareReport(
      id: "zone-2", title: "list", table: "lists", key: .null, owner: "account-1", role: $0, stopped: false,
      reason: nil, records: 0, epoch: nil, lastActivity: nil, participants: [], invites: [])
  }
  static let writer = RecordReport.Writer(
    device: "device-1", deviceName: "tower", account: "account-1", written: when,
    carried: .init(device: "device-2", deviceName: "laptop", account: "account-1", written: when))
  static let unknownWriter = RecordReport.Writer(
    device: "device-1", deviceName: nil, account: nil, written: nil,
    carried: .init(device: "device-2", deviceName: nil, account: nil, written: nil))

  static let answers: [any Codable & Equatable & Sendable] =
    [
      status,
      StatusReport(
        running: false, account: "account-1", accountName: "alice", device: "device-1", deviceName: "tower",
        instance: nil, database: "/n.db", listen: nil, pending: 0, held: [:], zones: [], peers: []),
      PeersReport(peers: [peer, unknownPeer]), ZonesReport(zones: zones),
      HeldReport(
        counts: ["constraint": 1],
        records: [.init(zone: "zone-1", zoneName: "private", table: "notes", key: .text("n1"), hold: hold)],
        complete: true, untracked: ["drafts": 2]),
      RetryReport(tried: 3, shown: 2),
      ResolveReport(zone: "zone-1", table: "notes", key: .text("n1"), values: ["a": .null]),
      DiscardReport(discarded: [.init(zone: "zone-1", table: "notes", key: .text("n1"), wayBack: "Restore it.")]),
      AssetsReport(waiting: [item], complete: true, received: 262_144, speed: 100_000),
      AssetReport(
        assets: [AssetsReport.State.here, .coming, .absent, .onDemand, .evicted, .held, .stuck].map {
          .init(
            asset: "asset-1", size: 1, here: 1, zone: "zone-1", table: "photos", key: .text("p1"), column: "image",
            state: $0)
        }, complete: false),
      AssetPoliciesReport(policies: ["photos": .onDemand, "films": .always]),
      ConflictsReport(
        conflicts: [
          .init(
            id: 7, zone: "zone-1", table: "notes", key: .text("n1"), column: "title",
            winner: .init(value: .text("milk"), device: "device-1", deviceName: "tower", written: when),
            lostTo: .init(device: "device-3", deviceName: "phone", written: when),
            loser: .init(
              value: .asset("asset-1", size: 9), deleted: true, device: "device-2", deviceName: nil, written: nil,
              imported: true), found: when),
          .init(
            id: 8, zone: "zone-1", table: "notes", key: .text("n1"), column: nil,
            winner: .init(value: .null, device: "device-1", deviceName: nil, written: nil),
            loser: .init(value: .null, device: "device-1", deviceName: nil, written: nil), found: when,
            dismissed: true),
        ], total: 9, dropped: 3, dismissed: 1, next: 8), DismissReport(dismissed: 2),
      ConflictsReport(conflicts: [], total: 0),
      RestoreReport(
        table: "tags", key: .text("t1"), deleted: true, unchanged: true, values: ["a": .integer(1)], lacking: ["b"],
        gone: ["c"],
        waitsFor: [.init(table: "notes", key: .text("n1"), zone: nil)], descendants: 2),
      BackupReport(
        file: "/b.db", bytes: 4_096, database: "/n.db", home: "/home", tables: ["notes"], lackingAssets: missing),
      YieldReport(process: 7),
      RecordReport(records: [
        .init(
          zone: "zone-1", zoneName: "private", table: "notes", key: .text("n1"), generation: 1, deleted: false,
          hold: hold, by: writer, movedTo: "zone-2",
          columns: [
            .init(
              name: "a", value: .null, by: unknownWriter, beat: .init(value: .integer(1), by: writer, seen: true),
              withheld: .init(
                shown: .null, waitsFor: .init(table: "lists", key: .text("l1"), zone: nil), wayOut: "Restore."))
          ]),
        .init(
          zone: "zone-1", zoneName: "private", table: "notes", key: .text("n1"), generation: 2, deleted: true,
          hold: nil, by: nil, columns: [.init(name: "a", value: .null, by: writer, beat: nil)]),
      ]),
      DoctorReport(checks: [
        .init("held", .ok, "Nothing."), .init("work", .alarm, "Full.", wayOut: "Make room.", figures: ["bytes": 1]),
        .init("peer", .warning, "Away."),
      ]),
      AccountReport(
        account: "account-1", name: "alice", device: "device-1", deviceName: "tower", holdsAccountKey: true,
        keyHolder: "tower (device-1)", administrators: ["laptop (device-2)"], recoveryWaiting: true, devices: 2),
      AccountReport(
        account: "account-1", name: "alice", device: "device-1", deviceName: "tower", holdsAccountKey: false,
        keyHolder: nil, recoveryWaiting: false, devices: 1),
      VerifyReport(
        comparisons: [VerifyReport.Comparison.Outcome.equal, .unequal, .notInTime, .unsentHere, .unsentThere].map {
          .init(zone: "zone-1", device: "device-2", name: "laptop", outcome: $0, here: "ab", there: nil)
        }, older: [.init(zone: "zone-1", table: "notes", key: .text("n1"))], olderCount: 1),
      VerifyReport(
        comparisons: [.init(zone: "zone-1", device: "device-2", name: nil, outcome: .equal, here: "ab", there: "ab")],
        locked: "locked by process 7"),
      WaitReport(
        working: true, pending: 1, tooLong: 2,
        members: [
          .init(zone: "zone-1", device: "device-2", name: nil, behind: .init(here: 1, there: 0), assets: nil),
          .init(
            zone: "zone-1", device: "device-2", name: "laptop", behind: .init(here: 0, there: 0),
            assets: .init(absent: .init(assets: 1, bytes: 9))),
        ], assets: missing, locked: "locked by process 7", clock: "the clock is ahead"),
      WaitReport(
        pending: 0, tooLong: 0, members: [], held: ["constraint": 2], uncaptured: ["tags"], vanished: ["notes": 1],
        receipts: ["zone-2": 2], absent: [.init(device: "device-2", name: "laptop", changeSets: 3)]),
      TrackReport(
        tables: [.init(name: "notes", isPrivate: true, isShareable: false, rows: 3, wasTracked: true)],
        warnings: ["Keys differ."]),
      UntrackReport(tables: ["notes"]), RescanReport(tables: ["notes"], rows: 3, differences: 1),
      SchemaReport(
        applied: true,
        missing: [
          .init(
            table: "notes", exists: false, former: nil, columns: ["id"], renamed: ["key": "id"], statements: ["CREATE"],
            refusal: "no")
        ],
        different: [
          .init(table: "notes", column: "id", device: "device-2", name: "laptop", here: "id TEXT", there: "id INT"),
          .init(table: "notes", column: "", device: "device-2", name: nil, here: "", there: "CHECK (1)"),
        ], leftOut: ["an index"], undescribed: ["drafts"],
        policies: [.init(table: "notes", column: "stars", policy: "counter")]),
      SchemaReport(
        applied: false,
        missing: [.init(table: "n", exists: true, former: "m", columns: [], statements: [], refusal: nil)]),
      InviteReport(link: "mesh-device-x", expires: when, addresses: ["a:1"]), DevicesReport(devices: [device]),
      DevicesReport.Device(device: "device-2", name: "laptop", isThis: false, certified: when, revoked: nil),
      RevokeReport(device: "device-2", name: "laptop", revoked: when, zones: ["zone-1"]),
      ReplaceKeyReport(generation: 2, devices: [device]),
      RestampReport(zones: [.init(zone: "zone-1", name: "private", changeSets: 3)]), SharesReport(shares: [share]),
      ShareInviteReport(
        share: "zone-2", invite: "control-1", link: "mesh-share-x", addresses: ["a:1"],
        permission: .readOnly, uses: 1, expires: when, account: "account-2"),
      ShareJoinReport(
        state: .offered, share: "zone-2", title: "list", owner: "account-1", ownerName: "alice", table: "lists",
        key: .text("a"), permission: .readOnly, reason: "later", isRootTaken: true, rival: "zone-3", wasMember: true),
      ShareJoinReport(
        state: .joined, share: "zone-2", title: "list", owner: "account-1", table: nil, key: nil,
        permission: .readWrite),
      ShareJoinReport(
        state: .waiting, share: "zone-2", title: "list", owner: "account-1", table: nil, key: nil, permission: nil),
      ShareReceiptReport(
        receipts: [
          .init(table: "lists", key: .text("a"), values: ["a": .null], reason: .cut, noted: when),
          .init(table: "lists", key: .text("a"), values: nil, reason: .notPermitted, noted: when),
        ], restored: 1, discarded: 2, inTheWay: [.init(table: "lists", key: .text("a"))]),
      InitReport(
        home: "/home", account: "account-1", accountName: "alice", device: "device-1", deviceName: "tower",
        database: "/n.db", created: true, joined: true, adopted: ["notes"], leftOut: ["an index"],
        tables: ["tags"], missing: ["lists"], peers: ["a:1"], namesakes: ["device-3"]),
    ] + roles as [any Codable & Equatable & Sendable]
}
