import Foundation

/// A file of annotated vectors: `[name]` begins one, hexadecimal bytes follow, `#` begins a comment, and a line with `=` has
/// the text that is displayed for it.
struct VectorFile {
  struct Vector {
    var bytes: [UInt8] = []
    var text: String?
  }

  private(set) var vectors: [String: Vector] = [:]
  private(set) var names: [String] = []

  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }

  init(_ file: String) throws {
    let path = Self.folder.appendingPathComponent(file + ".txt")
    for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") { try read(line, in: file) }
  }

  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Vectors")

  func bytes(_ name: String) throws -> [UInt8] { try vector(name).bytes }

  func vector(_ name: String) throws -> Vector {
    guard let vector = vectors[name] else { throw Malformed(description: "no vector [\(name)]") }
    return vector
  }

  private mutating func read(_ line: Substring, in file: String) throws {
    let content = line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
    guard !content.isEmpty else { return }
    if content.hasPrefix("["), content.hasSuffix("]") {
      names.append(String(content.dropFirst().dropLast()))
      vectors[names[names.count - 1]] = Vector()
      return
    }
    guard let name = names.last else { throw Malformed(description: "\(file): bytes before a name") }
    if content.hasPrefix("= ") {
      vectors[name]?.text = String(content.dropFirst(2))
    } else {
      let digits = content.compactMap(\.hexDigitValue)
      guard digits.count == content.count, digits.count.isMultiple(of: 2) else {
        throw Malformed(description: "\(file) [\(name)]: not hexadecimal: \(content)")
      }
      vectors[name]?.bytes += stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
  }
}
