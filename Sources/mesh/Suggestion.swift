/// Suggests the name that a person may have meant.
enum Suggestion {
  /// Returns the nearest of `names`, if it needs at most two edits, and edits of fewer than half of the name's letters.
  static func nearest(to word: String, among names: [String]) -> String? {
    let ranked = names.map { (name: $0, distance: distance(word, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= 2 && 2 * best.distance < best.name.count ? best.name : nil
  }

  /// Returns the number of letters to insert, remove, replace or swap with their neighbour.
  static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var before: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
      var next = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var least = min(previous[column] + (isSame ? 0 : 1), previous[column + 1] + 1, next[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          least = min(least, before[column - 1] + 1)
        }
        next.append(least)
      }
      (before, previous) = (previous, next)
    }
    return previous[right.count]
  }
}
