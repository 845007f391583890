import Foundation
public import SQLiteDataQueries

// Declarations that the macros expand for real: the compiler is the first test.

@Table
nonisolated struct RemindersList: Hashable, Identifiable {
  let id: Int
  @Column("list_title") var title = ""
  var color: Int?
}

@Table
nonisolated struct Reminder: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var isCompleted = false
  @Column(as: Date.UnixTimeRepresentation?.self) var dueAt: Date?
  var priority: Priority?
  var remindersListID: RemindersList.ID
  var parentID: Self.ID?
  var score = 0.5
  var createdAt = Date(timeIntervalSince1970: 0)
  var status = Status.open
  @Ephemeral var isSelected = false

  enum Priority: Int, QueryBindable { case low, medium, high }
  enum Status: String, QueryBindable { case open, closed }

  static let limit = 10
  var isUrgent: Bool { priority == .high }
}

@Table("tags", schema: "library")
struct Tag {
  @Column(primaryKey: true) var title: String
  var note: String!
}

@Table
struct ReminderTag {
  let reminderID: Reminder.ID
  let tagID: String
}

@Selection
struct Timestamps: Equatable {
  var createdAt: Int
  var updatedAt: Int?
}

@Table
struct Note: Equatable {
  let id: Int
  var timestamps: Timestamps
  var other: Timestamps?
  @Column(generated: .virtual) let length: Int
}

@Selection
struct EnrollmentID: Equatable {
  let courseID: Int
  let studentID: Int
}

@Table
struct Enrollment {
  let id: EnrollmentID
  var grade: Int?
}

@Table
struct Membership {
  @Columns(primaryKey: true) let key: EnrollmentID
  var since = 2020
  @Column(lazyInitializable: true) var createdAt: Date
  @Selection struct Count { var count: Int }
}

@Table
enum Attachment: Equatable {
  case link(String)
  case note(text: String)
  case stamp(Timestamps)
}

@Selection
struct Row {
  let reminder: Reminder
  let listTitle: String?
  var count = 0
}

public enum Namespace {
  @Table
  public struct Item: Identifiable, Sendable {
    public let id: Int
    public var `class`: String = ""
    let version = 1
    var first, second: Int
    var observed = 0 {
      didSet {}
    }
  }

  // A sibling that only the enclosing type sees, as type and as value.
  public enum Kind: String, QueryBindable { case plain, fancy }
  @Table
  public struct Part {
    let itemID: Item.ID
    var kind = Kind.plain
    @Column(as: Kind?.self) var other: Kind?
  }
  @Table
  enum Choice {
    case kind(Kind)
    case number(Int)
  }
}

@Table
private struct Hidden {
  let id: Int
  fileprivate var title = ""
}

// Names that the expansions use themselves.
@Table
enum Names {
  case decoder(Int)
  case base(String)
  case value(Int)
}

@Table
struct MoreNames {
  let id: Int
  var allColumns = ""
  var columns = 0
  var decoder = 1
  var `init`: Int?
}

enum Functions {
  private enum Mood: Int, QueryBindable { case good, bad }

  @DatabaseFunction
  private static func opposite(_ mood: Mood) -> Mood { mood == .good ? .bad : .good }
  static var oppositeOfGood: QueryFragment { $opposite(Mood.good).queryFragment }

  @DatabaseFunction
  static var failing: Int { get throws { throw QueryDecodingError.integerOverflow } }

  @DatabaseFunction
  static func last(_: Int, of _: consuming String) -> String { "" }

  @DatabaseFunction
  nonisolated static func exclaim(_ text: String, times: Int) throws -> String {
    text + String(repeating: "!", count: times)
  }

  @DatabaseFunction("now", isDeterministic: true)
  static var fixedNow: Int { 7 }

  @DatabaseFunction
  static func note() {}

  @DatabaseFunction(as: ((Date.UnixTimeRepresentation) -> Date.UnixTimeRepresentation?).self)
  static func tomorrow(after date: Date) -> Date? { date + 86400 }
}

extension RemindersList.Draft {
  @DatabaseFunction
  static func isSame(_ id: Int, as other: Self.Key) -> Bool { id == other }
  typealias Key = Int
}

@DatabaseFunction
func longest(_ texts: some Sequence<String>) -> String? { texts.max { $0.count < $1.count } }

@DatabaseFunction
func weighted(rows: some Sequence<(value: Double, weight: Double)>) -> Double {
  rows.reduce(0) { $0 + $1.value * $1.weight }
}
