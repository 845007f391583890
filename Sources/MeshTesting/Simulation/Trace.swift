import MeshCore

/// The readable record of a run: a line for each event, and a hash over all lines.
struct Trace {
  private let cryptography: any Cryptography
  private let print: (String) -> Void
  private var hash: [UInt8] = []

  init(_ cryptography: any Cryptography, print: @escaping (String) -> Void) {
    self.cryptography = cryptography
    self.print = print
  }

  mutating func line(_ time: Int64, _ node: Int?, _ text: String) {
    let seconds = String(time / 1_000)
    let fraction = String(time % 1_000 + 1_000).dropFirst()
    let padding = String(repeating: " ", count: max(0, 6 - seconds.count))
    let who = node.map { "n\($0)" } ?? "--"
    let line = "\(padding)\(seconds).\(fraction) \(who) \(text)"
    hash = cryptography.hash(hash + Array(line.utf8), count: 16, key: [])
    print(line)
  }

  var digest: String { hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
