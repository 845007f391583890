import Foundation
import SQLiteData

/// The reminders in a terminal: shows the lists whenever they change, and carries out commands.
struct RemindersProgram: Sendable {
  static let help = """
    lists                 show the lists
    list LIST             make a list
    add LIST TITLE        add a reminder to a list
    show LIST             show the open reminders of a list
    done TITLE            complete a reminder
    flag TITLE            flag a reminder
    tag TITLE TAG         tag a reminder
    tagged TAG            show the reminders with a tag
    cover LIST FILE       set the cover image of a list
    search TEXT           search titles and notes
    delete TITLE          delete a reminder
    invite                invite another of your machines
    join INVITE           join the account of the machine that made the invite
    devices               show your machines
    share LIST            share a list with another person
    accept LINK           take part in a list that another person shares
    people LIST           show who takes part in a list
    unshare LIST          stop sharing a list
    sync                  wait until every connected machine has everything
    quit                  leave
    """

  @Dependency(\.defaultDatabase) private var database
  @Dependency(\.defaultSyncEngine) private var syncEngine
  @Dependency(\.uuid) private var uuid

  @FetchAll(ListOverview.lists) private var lists

  private let write: @Sendable (String) -> Void

  init(write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  /// Carries out commands until there are no more, and shows the lists each time they change.
  func run(_ commands: some AsyncSequence<String, Never> & Sendable) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await lists in $lists.values { write(Self.text(of: lists)) }
      }
      for await command in commands {
        guard command != "quit" else { break }
        do {
          try await carryOut(command)
        } catch let error as RemindersError {
          write("reminders: \(error)")
        } catch let error as SyncError {
          write("reminders: \(error)")
        } catch {
          write("reminders: can't carry out '\(command)': \(error)")
        }
      }
      group.cancelAll()
    }
  }

  private func carryOut(_ command: String) async throws {
    let words = command.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.dropFirst().first, words.dropFirst(2).first) {
    case (nil, _, _): return
    case ("lists", _, _): write(Self.text(of: lists))
    case ("list", let title?, let rest): try await addList([title, rest].compactMap(\.self).joined(separator: " "))
    case ("add", let list?, let title?): try await addReminder(title, to: list)
    case ("show", let list?, _): try await show(list)
    case ("done", let title?, let rest):
      try await change([title, rest]) { $0.isCompleted = true }
    case ("flag", let title?, let rest):
      try await change([title, rest]) { $0.isFlagged = true }
    case ("tag", let title?, let tag?): try await tagReminder(title, tag)
    case ("tagged", let tag?, _): try await showTagged(tag)
    case ("cover", let list?, let file?): try await setCover(of: list, file)
    case ("search", let text?, let rest): try await search([text, rest].compactMap(\.self).joined(separator: " "))
    case ("delete", let title?, let rest): try await delete([title, rest])
    case ("invite", _, _): write(try await syncEngine.inviteDevice().link)
    case ("join", let invite?, _):
      try await syncEngine.join(invite)
      write("joined")
    case ("devices", _, _): try await showDevices()
    case ("share", let list?, _): try await share(list)
    case ("accept", let invite?, _):
      let share = try await syncEngine.acceptShare(invite)
      write("\(share.owner.name ?? share.owner.id) shares '\(share.title ?? "a list")' with you")
    case ("people", let list?, _): try await showPeople(of: list)
    case ("unshare", let title?, _):
      try await syncEngine.unshare(record: try await find(title))
      write("no longer shared")
    case ("sync", _, _):
      try await syncEngine.syncChanges()
      write("in sync")
    default: write(Self.help)
    }
  }

  private func showDevices() async throws {
    let lines = try await syncEngine.devices().map { device in
      let state =
        device.isThis
        ? "this machine"
        : device.revoked != nil ? "revoked" : device.isConnected ? "connected" : "not connected"
      return "  \(device.name) (\(state))"
    }
    write(lines.joined(separator: "\n"))
  }

  private func share(_ title: String) async throws {
    let shared = try await syncEngine.share(record: try await find(title)) { $0.title = title }
    guard let invite = shared.link else {
      throw RemindersError("'\(title)' belongs to another person, who can share it")
    }
    write(invite)
  }

  private func showPeople(of title: String) async throws {
    let list = try await find(title)
    let share = try await database.read { db in
      try SyncMetadata.find(list.syncMetadataID).select(\.share).fetchOne(db) ?? nil
    }
    guard let share else { throw RemindersError("'\(title)' isn't shared. Share it with: share \(title)") }
    let lines = share.participants.map { person in
      let role = person.role == .owner ? "owner" : person.permission == .readOnly ? "may read" : "may read and write"
      return "  \(person.name ?? person.id) (\(role))"
    }
    write(lines.joined(separator: "\n"))
  }

  private func addList(_ title: String) async throws {
    try await database.write { db in
      let list = RemindersList(id: uuid(), position: try RemindersList.fetchCount(db), title: title)
      try RemindersList.insert { list }.execute(db)
    }
  }

  private func addReminder(_ title: String, to list: String) async throws {
    try await database.write { db in
      let list = try find(list, db)
      try Reminder.insert { Reminder(id: uuid(), title: title, remindersListID: list.id) }.execute(db)
    }
  }

  private func show(_ list: String) async throws {
    let rows = try await database.read { db in
      let list = try find(list, db)
      return
        try Reminder
        .where { $0.remindersListID.eq(list.id) && !$0.isCompleted }
        .order { ($0.isFlagged.desc(), $0.title) }
        .fetchAll(db)
    }
    write(rows.map { "  \($0.isFlagged ? "!" : "-") \($0.title)" }.joined(separator: "\n"))
  }

  private func change(_ title: [String?], _ change: @escaping @Sendable (inout Reminder) -> Void) async throws {
    try await database.write { db in
      var reminder = try findReminder(title.compactMap(\.self).joined(separator: " "), db)
      change(&reminder)
      try Reminder.update(reminder).execute(db)
    }
  }

  private func delete(_ title: [String?]) async throws {
    try await database.write { db in
      let reminder = try findReminder(title.compactMap(\.self).joined(separator: " "), db)
      try Reminder.find(reminder.id).delete().execute(db)
    }
  }

  private func tagReminder(_ title: String, _ tag: String) async throws {
    try await database.write { db in
      let reminder = try findReminder(title, db)
      try Tag.insert(or: .ignore) { Tag(title: tag) }.execute(db)
      try ReminderTag.insert { ReminderTag(id: uuid(), reminderID: reminder.id, tagID: tag) }.execute(db)
    }
  }

  private func showTagged(_ tag: String) async throws {
    let titles = try await database.read { db in
      try Reminder
        .join(ReminderTag.all) { $0.id.eq($1.reminderID) }
        .where { $1.tagID.eq(tag) }
        .order { reminders, _ in reminders.title }
        .select { reminders, _ in reminders.title }
        .fetchAll(db)
    }
    write(titles.map { "  #\(tag) \($0)" }.joined(separator: "\n"))
  }

  private func setCover(of list: String, _ file: String) async throws {
    guard let image = FileManager.default.contents(atPath: file) else {
      throw RemindersError("can't read the file '\(file)'")
    }
    try await database.write { db in
      let list = try find(list, db)
      try RemindersListAsset.upsert { RemindersListAsset.Draft(remindersListID: list.id, coverImage: image) }
        .execute(db)
    }
  }

  private func search(_ text: String) async throws {
    let rows = try await database.read { db in
      try #sql(
        """
        SELECT \(Reminder.columns), \(RemindersList.title)
        FROM "reminderTexts"
        JOIN \(Reminder.self) ON \(Reminder.id) = "reminderTexts"."reminderID"
        JOIN \(RemindersList.self) ON \(RemindersList.id) = \(Reminder.remindersListID)
        WHERE "reminderTexts" MATCH \(bind: "\"" + text.replacing("\"", with: "\"\"") + "\"")
        ORDER BY "reminderTexts"."rank"
        """,
        as: ReminderRow.self
      )
      .fetchAll(db)
    }
    write(
      rows.isEmpty ? "  nothing found" : rows.map { "  \($0.reminder.title) (\($0.listTitle))" }.joined(separator: "\n")
    )
  }

  private func find(_ title: String) async throws -> RemindersList {
    try await database.read { db in try find(title, db) }
  }

  private func find(_ title: String, _ db: Database) throws -> RemindersList {
    guard let list = try RemindersList.where({ $0.title.eq(title) }).fetchOne(db) else {
      throw RemindersError("there is no list '\(title)'. Make it with: list \(title)")
    }
    return list
  }

  private func findReminder(_ title: String, _ db: Database) throws -> Reminder {
    guard let reminder = try Reminder.where({ $0.title.eq(title) && !$0.isCompleted }).fetchOne(db) else {
      throw RemindersError("there is no open reminder '\(title)'. See them with: show LIST")
    }
    return reminder
  }

  private static func text(of lists: [ListOverview]) -> String {
    guard !lists.isEmpty else { return "No lists. Make one with: list Groceries" }
    return lists.map { list in
      "\(list.title): \(list.openCount) open" + (list.coverSize.map { ", a cover of \($0) bytes" } ?? "")
    }
    .joined(separator: "\n")
  }
}

/// A request of a person that can't be carried out.
struct RemindersError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
