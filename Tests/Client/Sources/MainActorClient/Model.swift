import Foundation
import SQLiteData

// In this module everything is isolated to the main actor unless it says otherwise.

@Table
struct Player: Identifiable, Equatable {
  let id: Int
  var name = ""
  var joinedAt: Date?
  @Column(as: [String].JSONRepresentation.self) var tags: [String] = []
}

@Table
nonisolated struct Team: Identifiable, Equatable {
  let id: Int
  var name = ""
}

@Selection
struct Score {
  var name: String
  var points: Int
}

@DatabaseFunction
nonisolated func shout(_ text: String) -> String { text.uppercased() }

final class PlayersModel {
  @FetchAll(Player.order(by: \.name)) var players
}
