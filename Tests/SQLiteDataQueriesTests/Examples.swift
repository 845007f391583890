import Foundation
import SQLiteDataQueries

// The examples of the module's documentation. `DocumentationTests` compares each with the SQL beside it in the
// sources, and fails if an example of the sources isn't here.

struct Example {
  let code: String
  let sql: String
}

private func example(_ code: String, _ statement: () -> some Statement) -> Example {
  Example(code: code, sql: statement().query.debugDescription)
}

private func expression(_ code: String, _ expression: () -> some QueryExpression) -> Example {
  Example(code: code, sql: expression().queryFragment.debugDescription)
}

private func queryExpressionExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    expression(#"SQLQueryExpression("\(Reminder.columns.title) || '!'", as: String.self)"#) {
      SQLQueryExpression("\(Reminder.columns.title) || '!'", as: String.self)
    })
  return examples
}

private func aggregatesExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.select { $0.dueDate.count(filter: $0.isCompleted) }") {
      Reminder.select { $0.dueDate.count(filter: $0.isCompleted) }
    })
  examples.append(example("Reminder.select { $0.id.max() }") { Reminder.select { $0.id.max() } })
  examples.append(example("Reminder.select { $0.id.min() }") { Reminder.select { $0.id.min() } })
  examples.append(example("Reminder.select { $0.id.avg() }") { Reminder.select { $0.id.avg() } })
  examples.append(example("Reminder.select { $0.id.sum() }") { Reminder.select { $0.id.sum() } })
  examples.append(example("Reminder.select { $0.id.total() }") { Reminder.select { $0.id.total() } })
  examples.append(
    example(#"Reminder.select { $0.title.groupConcat(", ") }"#) { Reminder.select { $0.title.groupConcat(", ") } })
  examples.append(
    example("Reminder.select { $0.title.groupConcat(distinct: true) }") {
      Reminder.select { $0.title.groupConcat(distinct: true) }
    })
  examples.append(
    example("RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.count() }") {
      RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.count() }
    })
  examples.append(
    example(#"Reminder.group(by: \.isCompleted).having { _ in countAll().gt(1) }.select(\.isCompleted)"#) {
      Reminder.group(by: \.isCompleted).having { _ in countAll().gt(1) }.select(\.isCompleted)
    })
  examples.append(
    example("Reminder.select { countAll(filter: $0.isCompleted) }") {
      Reminder.select { countAll(filter: $0.isCompleted) }
    })
  return examples
}

private func arithmeticExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example("Reminder.select { $0.id + 1 }") { Reminder.select { $0.id + 1 } })
  examples.append(example("Reminder.select { $0.id - 1 }") { Reminder.select { $0.id - 1 } })
  examples.append(example("Reminder.select { $0.id * 2 }") { Reminder.select { $0.id * 2 } })
  examples.append(example("Reminder.select { $0.id / 2 }") { Reminder.select { $0.id / 2 } })
  examples.append(example("Reminder.select { $0.id % 2 }") { Reminder.select { $0.id % 2 } })
  examples.append(example("Reminder.select { -$0.id }") { Reminder.select { -$0.id } })
  examples.append(example("Reminder.select { +$0.id }") { Reminder.select { +$0.id } })
  examples.append(example("Reminder.select { 1 + $0.id }") { Reminder.select { 1 + $0.id } })
  examples.append(example("Reminder.select { $0.id & 1 }") { Reminder.select { $0.id & 1 } })
  examples.append(example("Reminder.select { $0.id | 1 }") { Reminder.select { $0.id | 1 } })
  examples.append(example("Reminder.select { $0.id << 1 }") { Reminder.select { $0.id << 1 } })
  examples.append(example("Reminder.select { $0.id >> 1 }") { Reminder.select { $0.id >> 1 } })
  examples.append(example("Reminder.select { ~$0.id }") { Reminder.select { ~$0.id } })
  examples.append(example(#"Reminder.select { $0.title + "!" }"#) { Reminder.select { $0.title + "!" } })
  examples.append(example(#"Reminder.select { "Task: " + $0.title }"#) { Reminder.select { "Task: " + $0.title } })
  examples.append(
    example("Reminder.select { $0.priority ?? Priority.low }") { Reminder.select { $0.priority ?? Priority.low } })
  examples.append(
    example("Reminder.select { $0.priority.ifnull(Priority.low) }") {
      Reminder.select { $0.priority.ifnull(Priority.low) }
    })
  examples.append(
    example("Reminder.select { $0.dueDate.ifnull($0.dueDate) }") { Reminder.select { $0.dueDate.ifnull($0.dueDate) } })
  return examples
}

private func caseExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.select { Case($0.id).when(1, then: "one").when(2, then: "two").else("many") }"#) {
      Reminder.select { Case($0.id).when(1, then: "one").when(2, then: "two").else("many") }
    })
  examples.append(
    example(#"Reminder.select { Case().when($0.isCompleted, then: "done").else("open") }"#) {
      Reminder.select { Case().when($0.isCompleted, then: "done").else("open") }
    })
  return examples
}

private func comparisonsExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.where { $0.title.eq("Get milk") }"#) { Reminder.where { $0.title.eq("Get milk") } })
  examples.append(
    example("Reminder.where { $0.priority.eq(Priority.high) }") { Reminder.where { $0.priority.eq(Priority.high) } })
  examples.append(
    example(#"Reminder.where { $0.title.neq("Get milk") }"#) { Reminder.where { $0.title.neq("Get milk") } })
  examples.append(
    example("Reminder.where { $0.priority.neq(Priority.high) }") { Reminder.where { $0.priority.neq(Priority.high) } })
  examples.append(example("Reminder.where { $0.dueDate.is(nil) }") { Reminder.where { $0.dueDate.is(nil) } })
  examples.append(example("Reminder.where { $0.priority.is(nil) }") { Reminder.where { $0.priority.is(nil) } })
  examples.append(
    example("Reminder.where { $0.id.isNot($0.remindersListID) }") { Reminder.where { $0.id.isNot($0.remindersListID) } }
  )
  examples.append(example("Reminder.where { $0.dueDate.isNot(nil) }") { Reminder.where { $0.dueDate.isNot(nil) } })
  examples.append(example("Reminder.where { $0.id.gt(10) }") { Reminder.where { $0.id.gt(10) } })
  examples.append(example("Reminder.where { $0.id.lt(10) }") { Reminder.where { $0.id.lt(10) } })
  examples.append(example("Reminder.where { $0.id.gte(10) }") { Reminder.where { $0.id.gte(10) } })
  examples.append(example("Reminder.where { $0.id.lte(10) }") { Reminder.where { $0.id.lte(10) } })
  examples.append(
    example("Reminder.where { $0.id.between(1, and: 10) }") { Reminder.where { $0.id.between(1, and: 10) } })
  examples.append(example("Reminder.where { $0.id.in([1, 2, 3]) }") { Reminder.where { $0.id.in([1, 2, 3]) } })
  examples.append(
    example("Reminder.where { $0.priority.in([.low, .high]) }") { Reminder.where { $0.priority.in([.low, .high]) } })
  examples.append(
    example("Reminder.where { ($0.id % 2) == 1 }") { Reminder.where { ($0.id % 2) == 1 } })
  examples.append(example("Reminder.where { $0.dueDate == nil }") { Reminder.where { $0.dueDate == nil } })
  examples.append(
    example("Reminder.where { $0.priority.in([Priority.low, .high]) }") {
      Reminder.where { $0.priority.in([Priority.low, .high]) }
    })
  examples.append(
    example(#"Reminder.where { $0.remindersListID.in(RemindersList.select(\.id)) }"#) {
      Reminder.where { $0.remindersListID.in(RemindersList.select(\.id)) }
    })
  examples.append(example("Reminder.where { [1, 2].contains($0.id) }") { Reminder.where { [1, 2].contains($0.id) } })
  examples.append(example("Reminder.where { (1...3).contains($0.id) }") { Reminder.where { (1...3).contains($0.id) } })
  examples.append(
    example(#"Tag.where { Reminder.select(\.id).contains($0.id) }"#) {
      Tag.where { Reminder.select(\.id).contains($0.id) }
    })
  examples.append(
    example("RemindersList.where { list in Reminder.where { $0.remindersListID.eq(list.id) }.exists() }") {
      RemindersList.where { list in Reminder.where { $0.remindersListID.eq(list.id) }.exists() }
    })
  return examples
}

private func dateFunctionsExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.where { $0.dueDate.date().eq(currentDate()) }") {
      Reminder.where { $0.dueDate.date().eq(currentDate()) }
    })
  examples.append(
    example(#"Reminder.select { $0.dueDate.time("+1 hour") }"#) { Reminder.select { $0.dueDate.time("+1 hour") } })
  examples.append(example("Reminder.select { $0.dueDate.datetime() }") { Reminder.select { $0.dueDate.datetime() } })
  examples.append(example("Reminder.select { $0.dueDate.julianday() }") { Reminder.select { $0.dueDate.julianday() } })
  examples.append(example("Reminder.select { $0.dueDate.unixepoch() }") { Reminder.select { $0.dueDate.unixepoch() } })
  examples.append(
    example(#"Reminder.select { $0.dueDate.strftime("%Y") }"#) { Reminder.select { $0.dueDate.strftime("%Y") } })
  return examples
}

private func jSONFunctionsExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.select { $0.notes.jsonArrayLength() }") { Reminder.select { $0.notes.jsonArrayLength() } })
  examples.append(
    example(#"Reminder.select { $0.notes.jsonExtract("$.color", as: String?.self) }"#) {
      Reminder.select { $0.notes.jsonExtract("$.color", as: String?.self) }
    })
  examples.append(
    example(#"Reminder.select { $0.title.jsonPatch("{}") }"#) { Reminder.select { $0.title.jsonPatch("{}") } })
  examples.append(
    example("Reminder.select { $0.title.jsonGroupArray() }") { Reminder.select { $0.title.jsonGroupArray() } })
  examples.append(example("Tag.select { $0.jsonObject() }") { Tag.select { $0.jsonObject() } })
  examples.append(example("Tag.select { $0.jsonGroupArray() }") { Tag.select { $0.jsonGroupArray() } })
  return examples
}

private func logicExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.where { $0.isCompleted && $0.isFlagged }") { Reminder.where { $0.isCompleted && $0.isFlagged } })
  examples.append(
    example("Reminder.where { $0.isCompleted || $0.isFlagged }") { Reminder.where { $0.isCompleted || $0.isFlagged } })
  examples.append(example("Reminder.where { !$0.isCompleted }") { Reminder.where { !$0.isCompleted } })
  return examples
}

private func orderingExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.order { $0.dueDate.asc(nulls: .last) }") { Reminder.order { $0.dueDate.asc(nulls: .last) } })
  examples.append(example("Reminder.order { $0.title.desc() }") { Reminder.order { $0.title.desc() } })
  return examples
}

private func scalarExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example("Reminder.select { $0.title.length() }") { Reminder.select { $0.title.length() } })
  examples.append(example("Reminder.select { $0.notes.length() }") { Reminder.select { $0.notes.length() } })
  examples.append(example("Reminder.select { $0.title.hex() }") { Reminder.select { $0.title.hex() } })
  examples.append(example("Reminder.select { $0.title.octetLength() }") { Reminder.select { $0.title.octetLength() } })
  examples.append(example("Reminder.select { $0.id.randomblob() }") { Reminder.select { $0.id.randomblob() } })
  examples.append(example("Reminder.select { $0.id.zeroblob() }") { Reminder.select { $0.id.zeroblob() } })
  examples.append(example("Reminder.select { $0.title.quote() }") { Reminder.select { $0.title.quote() } })
  examples.append(example("Reminder.select { $0.title.typeof() }") { Reminder.select { $0.title.typeof() } })
  examples.append(example("Reminder.select { $0.id.abs() }") { Reminder.select { $0.id.abs() } })
  examples.append(example("Reminder.select { $0.id.sign() }") { Reminder.select { $0.id.sign() } })
  examples.append(example("Reminder.select { $0.id.avg().round(2) }") { Reminder.select { $0.id.avg().round(2) } })
  examples.append(example("Reminder.where { $0.isCompleted.likely() }") { Reminder.where { $0.isCompleted.likely() } })
  examples.append(
    example("Reminder.where { $0.isCompleted.unlikely() }") { Reminder.where { $0.isCompleted.unlikely() } })
  examples.append(
    example("Reminder.where { $0.isCompleted.likelihood(0.75) }") { Reminder.where { $0.isCompleted.likelihood(0.75) } }
  )
  examples.append(example(#"Reminder.select { $0.title.nullif("") }"#) { Reminder.select { $0.title.nullif("") } })
  examples.append(
    example("Reminder.select { $0.id.cast(as: String.self) }") { Reminder.select { $0.id.cast(as: String.self) } })
  examples.append(
    example("Reminder.order { _ in .random() }.limit(3)") { Reminder.order { _ in .random() }.limit(3) })
  examples.append(
    example("Reminder.select { $0.priority.map { $0.cast(as: String.self) } }") {
      Reminder.select { $0.priority.map { $0.cast(as: String.self) } }
    })
  return examples
}

private func textExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.order { $0.title.collate(.nocase) }") { Reminder.order { $0.title.collate(.nocase) } })
  examples.append(
    example(#"Reminder.where { $0.title.like("%milk%") }"#) { Reminder.where { $0.title.like("%milk%") } })
  examples.append(
    example(#"Reminder.where { $0.title.like("100!%", escape: "!") }"#) {
      Reminder.where { $0.title.like("100!%", escape: "!") }
    })
  examples.append(
    example(#"Reminder.where { $0.title.glob("*milk*") }"#) { Reminder.where { $0.title.glob("*milk*") } })
  examples.append(
    example(#"ReminderText.where { $0.title.match("milk") }"#) { ReminderText.where { $0.title.match("milk") } })
  examples.append(
    example(#"Reminder.where { $0.title.contains("milk") }"#) { Reminder.where { $0.title.contains("milk") } })
  examples.append(
    example(#"Reminder.where { $0.title.hasPrefix("Get") }"#) { Reminder.where { $0.title.hasPrefix("Get") } })
  examples.append(
    example(#"Reminder.where { $0.title.hasSuffix("milk") }"#) { Reminder.where { $0.title.hasSuffix("milk") } })
  examples.append(example("Reminder.select { $0.title.lower() }") { Reminder.select { $0.title.lower() } })
  examples.append(example("Reminder.select { $0.title.upper() }") { Reminder.select { $0.title.upper() } })
  examples.append(example("Reminder.select { $0.title.trim() }") { Reminder.select { $0.title.trim() } })
  examples.append(example("Reminder.select { $0.title.ltrim() }") { Reminder.select { $0.title.ltrim() } })
  examples.append(example("Reminder.select { $0.title.rtrim() }") { Reminder.select { $0.title.rtrim() } })
  examples.append(
    example(#"Reminder.select { $0.title.replace("milk", "cheese") }"#) {
      Reminder.select { $0.title.replace("milk", "cheese") }
    })
  examples.append(example("Reminder.select { $0.title.substr(1, 3) }") { Reminder.select { $0.title.substr(1, 3) } })
  examples.append(
    example(#"Reminder.select { $0.title.instr("milk") }"#) { Reminder.select { $0.title.instr("milk") } })
  examples.append(example("Reminder.select { $0.title.unicode() }") { Reminder.select { $0.title.unicode() } })
  examples.append(example(#"Reminder.select { $0.notes.unhex("-") }"#) { Reminder.select { $0.notes.unhex("-") } })
  return examples
}

private func windowsExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.select { $0.id.sum().over(Window().partition(by: $0.remindersListID).order(by: $0.title)) }") {
      Reminder.select { $0.id.sum().over(Window().partition(by: $0.remindersListID).order(by: $0.title)) }
    })
  examples.append(
    example("Reminder.select { ($0.title, rowNumber().over(Window().order(by: $0.id))) }") {
      Reminder.select { ($0.title, rowNumber().over(Window().order(by: $0.id))) }
    })
  examples.append(
    example("Reminder.select { $0.title.lag().over(Window().order(by: $0.id)) }") {
      Reminder.select { $0.title.lag().over(Window().order(by: $0.id)) }
    })
  examples.append(
    example("Reminder.select { $0.title.lead().over(Window().order(by: $0.id)) }") {
      Reminder.select { $0.title.lead().over(Window().order(by: $0.id)) }
    })
  return examples
}

private func fTSExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example("Reminder.select { $0.rowid }") { Reminder.select { $0.rowid } })
  examples.append(
    example(#"ReminderText.where { $0.match("milk") }.order { $0.rank }"#) {
      ReminderText.where { $0.match("milk") }.order { $0.rank }
    })
  examples.append(
    example(#"ReminderText.where { $0.match("milk") }.select { $0.title.highlight("<b>", "</b>") }"#) {
      ReminderText.where { $0.match("milk") }.select { $0.title.highlight("<b>", "</b>") }
    })
  return examples
}

private func temporaryTriggerExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(
      #"Reminder.createTemporaryTrigger("log", after: .delete { _ in RemindersList.delete() }).drop(ifExists: true)"#
    ) { Reminder.createTemporaryTrigger("log", after: .delete { _ in RemindersList.delete() }).drop(ifExists: true) })
  examples.append(
    example(
      #"""
      Reminder.createTemporaryTrigger("count", after: .insert { new in
        RemindersList.find(new.remindersListID).update { $0.position += 1 }
      })
      """#
    ) {
      Reminder.createTemporaryTrigger(
        "count",
        after: .insert { new in
          RemindersList.find(new.remindersListID).update { $0.position += 1 }
        })
    })
  examples.append(
    example(
      #"""
      Reminder.createTemporaryTrigger("moved", after: .update(of: { $0.remindersListID }) { old, new in
        RemindersList.find(old.remindersListID).update { $0.position -= 1 }
      })
      """#
    ) {
      Reminder.createTemporaryTrigger(
        "moved",
        after: .update(of: { $0.remindersListID }) { old, new in
          RemindersList.find(old.remindersListID).update { $0.position -= 1 }
        })
    })
  examples.append(
    example(#"Reminder.createTemporaryTrigger("touch", after: .update(touch: { $0.notes = #sql("datetime('now')") }))"#)
    { Reminder.createTemporaryTrigger("touch", after: .update(touch: { $0.notes = #sql("datetime('now')") })) })
  examples.append(
    example(#"Reminder.createTemporaryTrigger("touch", afterUpdateTouch: \.dueDate)"#) {
      Reminder.createTemporaryTrigger("touch", afterUpdateTouch: \.dueDate)
    })
  return examples
}

private func temporaryViewExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(
      #"""
      OpenReminder.createTemporaryView(
        as: Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) })
      """#
    ) {
      OpenReminder.createTemporaryView(
        as: Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) })
    })
  return examples
}

private func compoundSelectExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.select(\.title).union(RemindersList.select(\.title))"#) {
      Reminder.select(\.title).union(RemindersList.select(\.title))
    })
  examples.append(
    example(#"Reminder.select(\.title).intersect(RemindersList.select(\.title))"#) {
      Reminder.select(\.title).intersect(RemindersList.select(\.title))
    })
  examples.append(
    example(#"Reminder.select(\.title).except(RemindersList.select(\.title))"#) {
      Reminder.select(\.title).except(RemindersList.select(\.title))
    })
  examples.append(
    example(#"Reminder.select(\.title).union(RemindersList.select(\.title)).order(byColumn: 1).limit(5)"#) {
      Reminder.select(\.title).union(RemindersList.select(\.title)).order(byColumn: 1).limit(5)
    })
  return examples
}

private func deleteExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.find(1).delete().returning(\.title)"#) { Reminder.find(1).delete().returning(\.title) })
  examples.append(example("Reminder.delete().where { $0.id.eq(1) }") { Reminder.delete().where { $0.id.eq(1) } })
  examples.append(example("Reminder.delete()") { Reminder.delete() })
  examples.append(example(#"Reminder.where(\.isCompleted).delete()"#) { Reminder.where(\.isCompleted).delete() })
  examples.append(
    example(#"RemindersList.delete(RemindersList(id: 1, title: "Personal"))"#) {
      RemindersList.delete(RemindersList(id: 1, title: "Personal"))
    })
  return examples
}

private func insertExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"RemindersList.insert { RemindersList.Draft(title: "Personal") }.returning(\.id)"#) {
      RemindersList.insert { RemindersList.Draft(title: "Personal") }.returning(\.id)
    })
  return examples
}

private func joinsExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(
      #"""
      RemindersList.where { $0.id.gt(1) }.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
      """#
    ) {
      RemindersList.where { $0.id.gt(1) }.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
    })
  examples.append(
    example(
      #"""
      RemindersList.where { $0.id.gt(1) }.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
      """#
    ) {
      RemindersList.where { $0.id.gt(1) }.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
    })
  examples.append(
    example(
      #"""
      RemindersList.where { $0.id.gt(1) }.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
      """#
    ) {
      RemindersList.where { $0.id.gt(1) }.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
    })
  examples.append(
    example(
      #"""
      RemindersList.where { $0.id.gt(1) }.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
      """#
    ) {
      RemindersList.where { $0.id.gt(1) }.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
        .select { ($0.title, $1.title) }
    })
  return examples
}

private func selectClausesExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.where(\.isCompleted).select(\.title)"#) { Reminder.where(\.isCompleted).select(\.title) })
  examples.append(
    example(#"Reminder.where(\.isCompleted).select { $0.title.upper() }"#) {
      Reminder.where(\.isCompleted).select { $0.title.upper() }
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).select { ($0.id, $0.title) }"#) {
      Reminder.where(\.isCompleted).select { ($0.id, $0.title) }
    })
  examples.append(
    example(#"Reminder.order(by: \.title).where(\.isCompleted)"#) { Reminder.order(by: \.title).where(\.isCompleted) })
  examples.append(
    example(#"Reminder.order(by: \.title).where { $0.id.gt(10) }"#) {
      Reminder.order(by: \.title).where { $0.id.gt(10) }
    })
  examples.append(
    example(#"Reminder.order(by: \.title).and(Reminder.where(\.isCompleted))"#) {
      Reminder.order(by: \.title).and(Reminder.where(\.isCompleted))
    })
  examples.append(
    example(#"Reminder.group(by: \.remindersListID).select { ($0.remindersListID, $0.count()) }"#) {
      Reminder.group(by: \.remindersListID).select { ($0.remindersListID, $0.count()) }
    })
  examples.append(
    example("Reminder.group { ($0.remindersListID, $0.isCompleted) }.select { $0.count() }") {
      Reminder.group { ($0.remindersListID, $0.isCompleted) }.select { $0.count() }
    })
  examples.append(
    example(#"Reminder.group(by: \.remindersListID).having { $0.count().gt(1) }.select(\.remindersListID)"#) {
      Reminder.group(by: \.remindersListID).having { $0.count().gt(1) }.select(\.remindersListID)
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).order(by: \.title)"#) { Reminder.where(\.isCompleted).order(by: \.title) })
  examples.append(
    example(#"Reminder.where(\.isCompleted).order { ($0.title.desc(), $0.id) }"#) {
      Reminder.where(\.isCompleted).order { ($0.title.desc(), $0.id) }
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).limit { _ in 10 }"#) { Reminder.where(\.isCompleted).limit { _ in 10 } })
  examples.append(
    example(#"Reminder.where(\.isCompleted).limit(10, offset: 20)"#) {
      Reminder.where(\.isCompleted).limit(10, offset: 20)
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).limit(10).offset(20)"#) {
      Reminder.where(\.isCompleted).limit(10).offset(20)
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).distinct().select(\.title)"#) {
      Reminder.where(\.isCompleted).distinct().select(\.title)
    })
  examples.append(
    example("RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.selectStar()") {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.selectStar()
    })
  examples.append(example(#"Reminder.where(\.isCompleted).count()"#) { Reminder.where(\.isCompleted).count() })
  examples.append(
    example(#"Reminder.where(\.isCompleted).count { $0.id.gt(10) }"#) {
      Reminder.where(\.isCompleted).count { $0.id.gt(10) }
    })
  examples.append(
    example(#"Reminder.select { ($0.title, $0.notes) }.map { title, notes in title + " " + notes.ifnull("") }"#) {
      Reminder.select { ($0.title, $0.notes) }.map { title, notes in title + " " + notes.ifnull("") }
    })
  examples.append(
    example(#"Reminder.select(\.title).map { ($0, $0.length()) }"#) {
      Reminder.select(\.title).map { ($0, $0.length()) }
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).select(\.id) + Reminder.order(by: \.title).select(\.title)"#) {
      Reminder.where(\.isCompleted).select(\.id) + Reminder.order(by: \.title).select(\.title)
    })
  return examples
}

private func selectJoinedExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.title }") {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.title }
    })
  examples.append(
    example("RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { ($0.id, $1.id) }") {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { ($0.id, $1.id) }
    })
  examples.append(
    example(
      "RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.id }.where { $1.isCompleted }"
    ) { RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.id }.where { $1.isCompleted } })
  examples.append(
    example(
      "RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.group { list, _ in list.id }.select { $1.count() }"
    ) {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.group { list, _ in list.id }.select {
        $1.count()
      }
    })
  examples.append(
    example(
      #"""
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .group { list, _ in list.id }.having { $1.count().gt(1) }.select { list, _ in list.title }
      """#
    ) {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .group { list, _ in list.id }.having { $1.count().gt(1) }.select { list, _ in list.title }
    })
  examples.append(
    example(
      #"""
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .order { ($0.title, $1.title.desc()) }.select { $1.id }
      """#
    ) {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
        .order { ($0.title, $1.title.desc()) }.select { $1.id }
    })
  return examples
}

private func tableInsertExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(
      #"""
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
        RemindersList.Draft(title: "Work")
      }
      """#
    ) {
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
        RemindersList.Draft(title: "Work")
      }
    })
  examples.append(
    example(#"RemindersList.insert(RemindersList(id: 1, title: "Personal"))"#) {
      RemindersList.insert(RemindersList(id: 1, title: "Personal"))
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflictDoUpdate: { row, excluded in
        row.title = excluded.title
      }
      """#
    ) {
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflictDoUpdate: { row, excluded in
        row.title = excluded.title
      }
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflict: {
        $0.id
      } doUpdate: { row, excluded in
        row.title = excluded.title
      }
      """#
    ) {
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflict: {
        $0.id
      } doUpdate: { row, excluded in
        row.title = excluded.title
      }
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        ($0.title, $0.position)
      } values: {
        ("Personal", 1)
        ("Work", 2)
      }
      """#
    ) {
      RemindersList.insert {
        ($0.title, $0.position)
      } values: {
        ("Personal", 1)
        ("Work", 2)
      }
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        ($0.title, $0.position)
      } select: {
        Reminder.select { ($0.title, $0.id) }
      }
      """#
    ) {
      RemindersList.insert {
        ($0.title, $0.position)
      } select: {
        Reminder.select { ($0.title, $0.id) }
      }
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        ($0.title, $0.position)
      } select: {
        Reminder.select { ($0.title, $0.id) }
      } onConflict: {
        $0.title
      } doUpdate: {
        $0.position = $1.position
      } where: {
        $0.position.gt(0)
      }
      """#
    ) {
      RemindersList.insert {
        ($0.title, $0.position)
      } select: {
        Reminder.select { ($0.title, $0.id) }
      } onConflict: {
        $0.title
      } doUpdate: {
        $0.position = $1.position
      } where: {
        $0.position.gt(0)
      }
    })
  examples.append(example("RemindersList.insert()") { RemindersList.insert() })
  examples.append(
    example(#"RemindersList.upsert { RemindersList.Draft(id: 1, title: "Personal") }"#) {
      RemindersList.upsert { RemindersList.Draft(id: 1, title: "Personal") }
    })
  examples.append(
    example(
      #"""
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflict: {
        $0.id
      } doUpdate: {
        $0.title = $1.title
      } where: {
        $0.position.gt(0)
      }
      """#
    ) {
      RemindersList.insert {
        RemindersList(id: 1, title: "Personal")
      } onConflict: {
        $0.id
      } doUpdate: {
        $0.title = $1.title
      } where: {
        $0.position.gt(0)
      }
    })
  return examples
}

private func tableQueriesExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example(#"Reminder.where(\.isCompleted)"#) { Reminder.where(\.isCompleted) })
  examples.append(example("Reminder.where { !$0.isCompleted }") { Reminder.where { !$0.isCompleted } })
  examples.append(example(#"Reminder.select(\.title)"#) { Reminder.select(\.title) })
  examples.append(example("Reminder.select { $0.title.length() }") { Reminder.select { $0.title.length() } })
  examples.append(example("Reminder.select { ($0.id, $0.title) }") { Reminder.select { ($0.id, $0.title) } })
  examples.append(example(#"Reminder.distinct().select(\.title)"#) { Reminder.distinct().select(\.title) })
  examples.append(example(#"Reminder.order(by: \.title)"#) { Reminder.order(by: \.title) })
  examples.append(
    example("Reminder.order { ($0.isCompleted, $0.title.desc()) }") {
      Reminder.order { ($0.isCompleted, $0.title.desc()) }
    })
  examples.append(
    example(#"Reminder.group(by: \.isCompleted).select { ($0.isCompleted, $0.count()) }"#) {
      Reminder.group(by: \.isCompleted).select { ($0.isCompleted, $0.count()) }
    })
  examples.append(
    example("Reminder.group { ($0.isCompleted, $0.isFlagged) }.select { $0.count() }") {
      Reminder.group { ($0.isCompleted, $0.isFlagged) }.select { $0.count() }
    })
  examples.append(
    example(#"Reminder.having { $0.count().gt(1) }.select(\.title)"#) {
      Reminder.having { $0.count().gt(1) }.select(\.title)
    })
  examples.append(example("Reminder.limit(10)") { Reminder.limit(10) })
  examples.append(example("Reminder.count()") { Reminder.count() })
  examples.append(example("Reminder.count { $0.isCompleted }") { Reminder.count { $0.isCompleted } })
  examples.append(
    example("RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }") {
      RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
    })
  examples.append(
    example("RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }") {
      RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
    })
  examples.append(
    example("RemindersList.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }") {
      RemindersList.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
    })
  examples.append(
    example("RemindersList.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }") {
      RemindersList.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
    })
  examples.append(expression("Reminder.exists()") { Reminder.exists() })
  return examples
}

private func updateExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.find(1).update { $0.title = "Get milk" }.returning(\.title)"#) {
      Reminder.find(1).update { $0.title = "Get milk" }.returning(\.title)
    })
  examples.append(
    example(#"Reminder.update { $0.title = "Get milk" }.where { $0.id.eq(1) }"#) {
      Reminder.update { $0.title = "Get milk" }.where { $0.id.eq(1) }
    })
  examples.append(example("Reminder.update { $0.isCompleted = true }") { Reminder.update { $0.isCompleted = true } })
  examples.append(
    example("Reminder.find(1).update { $0.isCompleted.toggle() }") {
      Reminder.find(1).update { $0.isCompleted.toggle() }
    })
  examples.append(
    example(#"RemindersList.update(RemindersList(id: 1, title: "Personal"))"#) {
      RemindersList.update(RemindersList(id: 1, title: "Personal"))
    })
  return examples
}

private func updatesExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.update { $0.isCompleted.toggle() }") { Reminder.update { $0.isCompleted.toggle() } })
  examples.append(example("RemindersList.update { $0.position += 1 }") { RemindersList.update { $0.position += 1 } })
  examples.append(example(#"Reminder.update { $0.title += "!" }"#) { Reminder.update { $0.title += "!" } })
  examples.append(example(#"Reminder.update { $0.notes += "!" }"#) { Reminder.update { $0.notes += "!" } })
  examples.append(example("RemindersList.update { $0.position -= 1 }") { RemindersList.update { $0.position -= 1 } })
  examples.append(example("RemindersList.update { $0.position *= 2 }") { RemindersList.update { $0.position *= 2 } })
  examples.append(example("RemindersList.update { $0.position /= 2 }") { RemindersList.update { $0.position /= 2 } })
  examples.append(example("RemindersList.update { $0.position %= 2 }") { RemindersList.update { $0.position %= 2 } })
  examples.append(example("RemindersList.update { $0.position &= 2 }") { RemindersList.update { $0.position &= 2 } })
  examples.append(example("RemindersList.update { $0.position |= 2 }") { RemindersList.update { $0.position |= 2 } })
  examples.append(example("RemindersList.update { $0.position <<= 2 }") { RemindersList.update { $0.position <<= 2 } })
  examples.append(example("RemindersList.update { $0.position >>= 2 }") { RemindersList.update { $0.position >>= 2 } })
  examples.append(
    example("RemindersList.update { $0.position.negate() }") { RemindersList.update { $0.position.negate() } })
  examples.append(example(#"Reminder.update { $0.title.append("!") }"#) { Reminder.update { $0.title.append("!") } })
  return examples
}

private func valuesExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example(#"Values(1, "Hello", true)"#) { Values(1, "Hello", true) })
  return examples
}

private func whereExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Reminder.where(\.isCompleted).where(\.isFlagged)"#) { Reminder.where(\.isCompleted).where(\.isFlagged) })
  examples.append(
    example(#"Reminder.where(\.isCompleted).where { $0.id.gt(1) }"#) {
      Reminder.where(\.isCompleted).where { $0.id.gt(1) }
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).and(Reminder.where(\.isFlagged))"#) {
      Reminder.where(\.isCompleted).and(Reminder.where(\.isFlagged))
    })
  examples.append(
    example(#"Reminder.where(\.isCompleted).or(Reminder.where(\.isFlagged))"#) {
      Reminder.where(\.isCompleted).or(Reminder.where(\.isFlagged))
    })
  examples.append(example(#"Reminder.where(\.isCompleted).not()"#) { Reminder.where(\.isCompleted).not() })
  examples.append(example("Reminder.find(1)") { Reminder.find(1) })
  examples.append(example("Reminder.find([1, 2])") { Reminder.find([1, 2]) })
  examples.append(example(#"Reminder.where(\.isCompleted).find(1)"#) { Reminder.where(\.isCompleted).find(1) })
  examples.append(
    example(#"Reminder.where(\.isCompleted).find([1, 2])"#) { Reminder.where(\.isCompleted).find([1, 2]) })
  examples.append(example(#"Reminder.order(by: \.title).find(1)"#) { Reminder.order(by: \.title).find(1) })
  return examples
}

private func withExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(
      #"""
      With {
        Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) }
      } query: {
        OpenReminder.order(by: \.title)
      }
      """#
    ) {
      With {
        Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) }
      } query: {
        OpenReminder.order(by: \.title)
      }
    })
  return examples
}

private func namedQueryExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example(#"Reminder.where(\.isCompleted).flagged"#) { Reminder.where(\.isCompleted).flagged })
  examples.append(example(#"Reminder.select(\.title).flagged"#) { Reminder.select(\.title).flagged })
  examples.append(example(#"Reminder.select(\.title).byTitle"#) { Reminder.select(\.title).byTitle })
  examples.append(example(#"Reminder.select(\.id).titles"#) { Reminder.select(\.id).titles })
  return examples
}

private func compoundRowExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example(#"Tag.where { $0.id.lt(2) }.union(Tag.where { $0.title.eq("car") })"#) {
      Tag.where { $0.id.lt(2) }.union(Tag.where { $0.title.eq("car") })
    })
  return examples
}

private func columnGroupExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example(#"Reminder.select(\.timestamps)"#) { Reminder.select(\.timestamps) })
  return examples
}

private func tableExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(example("Reminder.unscoped") { Reminder.unscoped })
  return examples
}

private func tableAliasExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.join(Reminder.as(ParentAlias.self).all) { $0.id.eq($1.id) }.select { $1.title }") {
      Reminder.join(Reminder.as(ParentAlias.self).all) { $0.id.eq($1.id) }.select { $1.title }
    })
  examples.append(
    example(#"Reminder.as(ParentAlias.self).select(\.title)"#) { Reminder.as(ParentAlias.self).select(\.title) })
  examples.append(
    example(#"Reminder.as(ParentAlias.self).find(1).select(\.title)"#) {
      Reminder.as(ParentAlias.self).find(1).select(\.title)
    })
  return examples
}

private func tableExpressionExamples() -> [Example] {
  var examples: [Example] = []
  examples.append(
    example("Reminder.select { OpenReminder.Columns(title: $0.title) }") {
      Reminder.select { OpenReminder.Columns(title: $0.title) }
    })
  return examples
}

let documentedExamples: [Example] = [
  queryExpressionExamples(),
  aggregatesExamples(),
  arithmeticExamples(),
  caseExamples(),
  comparisonsExamples(),
  dateFunctionsExamples(),
  jSONFunctionsExamples(),
  logicExamples(),
  orderingExamples(),
  scalarExamples(),
  textExamples(),
  windowsExamples(),
  fTSExamples(),
  temporaryTriggerExamples(),
  temporaryViewExamples(),
  compoundSelectExamples(),
  deleteExamples(),
  insertExamples(),
  joinsExamples(),
  selectClausesExamples(),
  selectJoinedExamples(),
  tableInsertExamples(),
  tableQueriesExamples(),
  updateExamples(),
  updatesExamples(),
  valuesExamples(),
  whereExamples(),
  withExamples(),
  namedQueryExamples(),
  compoundRowExamples(),
  columnGroupExamples(),
  tableExamples(),
  tableAliasExamples(),
  tableExpressionExamples(),
].flatMap { $0 }
