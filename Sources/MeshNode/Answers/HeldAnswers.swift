import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Lists merged records that are not in their table, with the reason and the remedy.
struct HeldAnswers: NodePart {
  let context: NodeContext

  func held() throws -> HeldReport {
    let records = try store.held.list(limit: Self.heldLimit + 1)
    let ways = try WaysOut(store, trusts: devices.isTrusted)
    return HeldReport(
      counts: try counts(),
      records: records.prefix(Self.heldLimit).map { record in
        HeldReport.Record(
          zone: record.zone.description, zoneName: printable(replica.title(record.zone)), table: record.table,
          key: ReportedValue(record.key), hold: Self.hold(record, ways))
      }, complete: records.count <= Self.heldLimit, untracked: try store.held.untracked())
  }

  /// The maximum number of rows in a report for a person.
  private static let heldLimit = 1_000

  /// Returns the number of records that are merged and not shown, and of change sets that are stored and not merged.
  func counts() throws -> [String: Int] {
    var held = try store.figures.heldCounts()
    for zone in replica.zoneIDs {
      for (reason, count) in try replica.zoneViews.view(zone)?.waiting ?? [:] {
        held[reason.rawValue, default: 0] += count
      }
    }
    return held
  }

  static func hold(_ record: HeldEntry, _ ways: WaysOut) -> HoldReport {
    HoldReport(
      reason: record.reason.name, message: record.message, since: record.since.map(Date.init(milliseconds:)),
      waitsFor: record.waitsFor.map(HoldReport.Awaited.init),
      refused: record.refused.map {
        HoldReport.Refused(
          column: $0.column, merged: ReportedValue($0.merged), shown: $0.shown.map(ReportedValue.init) ?? .null,
          inTable: $0.shown != nil)
      }, wayOut: ways.text([record]))
  }

  nonisolated(nonsending) func retry() async throws -> RetryReport {
    try database.beginGuard()
    let before = try heldNow()
    try store.held.retry()
    replica.databaseChanged()
    replica.heldRequested()
    try await driver.work(whileRowsWaitBehind: "they come first") { try store.merges.isShowing() }
    return RetryReport(tried: before, shown: max(0, before - (try heldNow())))
  }

  nonisolated(nonsending) func discard(_ request: DiscardRequest) async throws -> DiscardReport {
    let zone = try request.zone.map(zone(named:))
    let keys = try await keys(request.keys, request.table)
    let discarded = try store.held.discard(table: request.table, keys: keys, zone: zone, now: time.milliseconds())
    replica.databaseChanged()
    return Self.report(discarded)
  }

  nonisolated(nonsending) func discardable(_ request: DiscardableRequest) async throws -> DiscardReport {
    let zone = try request.zone.map(zone(named:))
    let keys = try await keys(request.keys, request.table)
    return Self.report(try store.held.discardable(table: request.table, keys: keys, zone: zone))
  }

  /// Returns the possible keys for each text, after what programs wrote is merged.
  private nonisolated(nonsending) func keys(_ texts: [String], _ table: String) async throws -> [[Value]] {
    guard !texts.isEmpty else {
      throw Refusal(code: "discard.what", message: "say which records: a table, and their keys.", exit: .usage)
    }
    try await takeInWrites()
    return try texts.map { try store.tables.keys(written: $0, table: table) }
  }

  private static func report(_ records: [DiscardedRecord]) -> DiscardReport {
    DiscardReport(
      discarded: records.map {
        .init(zone: $0.zone.description, table: $0.table, key: ReportedValue($0.key), wayBack: WaysOut.back($0))
      })
  }

  nonisolated(nonsending) func resolve(_ request: ResolveRequest) async throws -> ResolveReport {
    try await takeInWrites()
    let resolution = Resolution(
      table: request.table, keys: try store.tables.keys(written: request.key, table: request.table),
      zone: try request.zone.map(zone(named:)), values: request.values, keepsShown: request.keepShown ?? false)
    let resolved = try store.held.resolve(resolution, now: time.milliseconds())
    replica.databaseChanged()
    return ResolveReport(
      zone: resolved.zone.description, table: resolved.table, key: ReportedValue(resolved.key),
      values: resolved.values.mapValues(ReportedValue.init))
  }

  private func heldNow() throws -> Int {
    try store.figures.status().held.filter { !$0.key.isUnsent }.values.reduce(0, +)
  }
}

extension HoldReport.Awaited {
  init(_ awaited: HeldEntry.Awaited) {
    self.init(table: awaited.table, key: ReportedValue(awaited.key), zone: awaited.zone?.description)
  }
}
