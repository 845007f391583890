import GRDB
import MeshControl
import SQLiteDataQueries
import Synchronization

/// An event for the delegate.
enum SyncNews: Sendable {
  case account(SyncEngine.AccountChange)
  case shareReceived(Share)
  case shareChanged(Share)
  case shareRevoked(Share)
  case conflict(SyncConflict)
  case held([String: Int])
  case failed(any Error)
}

/// Finds the differences between a node's answers, as long as the engine exists.
final class SyncWatch: Sendable {
  private struct Known {
    /// The shares by id, or nil before the first check.
    var shares: [String: Share]?
    var held: [String: Int] = [:]
    /// The newest conflict, or nil before the first check.
    var newestConflict: Int64?
    var isRevoked = false
  }

  private let database: any DatabaseWriter
  private let known = Mutex(Known())

  init(database: any DatabaseWriter) { self.database = database }

  /// Reads the shares of the last run, so that shares that ended in the meantime are reported.
  func load() async throws {
    guard known.withLock({ $0.shares }) == nil else { return }
    let shares = try await database.read { db in
      try #sql("SELECT share FROM mesh_app WHERE share IS NOT NULL", as: Share.JSONRepresentation.self).fetchAll(db)
    }
    known.withLock { $0.shares = Dictionary(shares.map { ($0.id, $0) }, uniquingKeysWith: { $1 }) }
  }

  /// Resets the known state, because the device has another account.
  func reset() { known.withLock { $0 = Known(shares: [:], newestConflict: $0.newestConflict) } }

  func share(_ id: String) -> Share? { known.withLock { $0.shares?[id] } }

  /// Returns the news since the last answer. If a request fails, the next call returns them.
  func news(in answer: AppBook.Answer, from control: any NodeControl) async throws -> [SyncNews] {
    let newest = try await database.read { db in
      try Int64.fetchOne(db, sql: "SELECT max(id) FROM mesh_conflict") ?? 0
    }
    let seen = known.withLock { $0.newestConflict } ?? newest
    let conflicts = try await Self.conflicts(after: seen, through: newest, from: control)
    // A revoked device has an alarm.
    let mayBeRevoked = !answer.status.alarms.isEmpty && !known.withLock { $0.isRevoked }
    let devices = mayBeRevoked ? try await control.perform(DevicesRequest()).devices : []
    let isRevoked = devices.contains { $0.isThis && $0.revoked != nil }
    return known.withLock { known in
      var news = Self.news(of: answer, known: &known.shares)
      if answer.status.held != known.held {
        known.held = answer.status.held
        news.append(.held(known.held))
      }
      known.newestConflict = newest
      news += conflicts
      if isRevoked {
        known.isRevoked = true
        news.append(.account(.signOut(previousUser: answer.status.account)))
      }
      return news
    }
  }

  /// Returns the conflicts of a range of numbers, the oldest first. The node lists the newest first, page by page.
  private static func conflicts(
    after seen: Int64, through newest: Int64, from control: any NodeControl
  ) async throws -> [SyncNews] {
    var conflicts: [SyncNews] = []
    // Newer conflicts, which the node may have found in the meantime, belong to the next answer.
    var after: Int64? = newest + 1
    while let last = after, last > seen + 1 {
      let page = try await control.perform(ConflictsRequest(after: last))
      conflicts += page.conflicts.filter { $0.id > seen }.map { .conflict(SyncConflict($0)) }
      after = page.next
    }
    return conflicts.reversed()
  }

  /// Returns the news about shares. A share that the node doesn't know has not ended, for example after the local data
  /// were deleted.
  private static func news(of answer: AppBook.Answer, known: inout [String: Share]?) -> [SyncNews] {
    var shares = known ?? [:]
    var news: [SyncNews] = []
    for share in answer.shares {
      if let before = shares.updateValue(share, forKey: share.id) {
        if before != share { news.append(.shareChanged(share)) }
      } else if share.currentUserParticipant?.role != .owner {
        news.append(.shareReceived(share))
      }
    }
    for id in answer.ended {
      guard let share = shares.removeValue(forKey: id), share.currentUserParticipant?.role != .owner else { continue }
      news.append(.shareRevoked(share))
    }
    known = shares
    return news
  }
}
