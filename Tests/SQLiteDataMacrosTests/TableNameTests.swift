import Testing

@Suite struct TableNameTests {
  @Test(
    "a type's name becomes a table's name",
    arguments: [
      ("Reminder", "reminders"), ("RemindersList", "remindersLists"), ("SyncUp", "syncUps"), ("Category", "categories"),
      ("Box", "boxes"), ("Day", "days"), ("Bus", "buses"), ("Quiz", "quizes"), ("Branch", "branches"),
      ("Dish", "dishes"),
      ("URLEntry", "urlEntries"), ("URL", "urls"), ("A", "as"), ("ReminderTag", "reminderTags"), ("Y", "ys"),
    ])
  func names(type: String, table: String) {
    #expect(type.tableName == table)
  }
}
