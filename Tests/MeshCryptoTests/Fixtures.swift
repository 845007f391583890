import MeshCore

@testable import MeshCrypto

/// Returns its given values, in order.
struct FixedRandomness: Randomness {
  let values: [UInt8]

  /// Creates a source in which every byte is `value`.
  init(_ value: UInt8) { values = [UInt8](repeating: value, count: 256) }

  /// Creates a source in which each value fills 32 bytes.
  init(blocks: [UInt8]) { values = blocks.flatMap { [UInt8](repeating: $0, count: 32) } }

  func bytes(_ count: Int) -> [UInt8] { Array(values.prefix(count)) }
}

func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func repeated(_ value: UInt8, _ count: Int = 32) -> [UInt8] { [UInt8](repeating: value, count: count) }

func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

/// X25519 public keys that lead every secret to zero (the small-order points, RFC 7748 section 7).
let lowOrderKeys: [[UInt8]] = [
  repeated(0),
  [1] + repeated(0, 31),
  bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
  bytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
  bytes("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
  bytes("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
  bytes("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]

extension CryptoError {
  /// Returns the code of the error that `body` throws, or nil if it succeeds.
  static func code(of body: () throws -> Void) -> Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? CryptoError)?.code
    }
  }
}
