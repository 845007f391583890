import Foundation
import SQLiteData

@Table
public struct Model01: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model02: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model03: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model04: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model05: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model06: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model07: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model08: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model09: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model10: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model11: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model12: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model13: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model14: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model15: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model16: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model17: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model18: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model19: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}

@Table
public struct Model20: Identifiable, Equatable, Sendable {
  public let id: UUID
  public var title = ""
  public var notes: String?
  public var count = 0
  public var isDone = false
  public var createdAt: Date
  @Column(as: Date.UnixTimeRepresentation?.self) public var dueAt: Date?
  public var parentID: UUID?
}
