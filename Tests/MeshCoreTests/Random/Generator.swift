import MeshCore

/// SplitMix64: the same seed gives the same test.
struct Generator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func flag(oneIn odds: Int = 2) -> Bool { below(odds) == 0 }
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
  mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

  mutating func many<T>(_ most: Int, _ make: (inout Generator) -> T) -> [T] {
    (0..<below(most + 1)).map { _ in make(&self) }
  }

  /// Of any magnitude: each bit length is as likely as any other.
  mutating func magnitude() -> UInt64 { next() >> UInt64(below(64)) }

  mutating func text(_ most: Int) -> String {
    let alphabet = Array("abcdefghij KLMNO_é中🙂")
    return String((0..<below(most + 1)).map { _ in pick(alphabet) })
  }
}

func fill(_ byte: UInt8, _ count: Int = 32) -> [UInt8] { [UInt8](repeating: byte, count: count) }
